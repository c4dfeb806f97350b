"""Verdicts come from facts: each set of facts, the reason it gives, and what is told beside."""

from __future__ import annotations

import dataclasses

import pytest
from maple_agents.ask.schedulers import Ending, EndReason, Job, JobState
from maple_agents.verify.judge.comparison import Names, compare
from maple_agents.verify.judge.outcome import judged, reasons_of
from maple_agents.verify.judge.sanity import warnings_of
from maple_agents.verify.judge.scenes import Scene, in_output
from maple_agents.verify.run.facts import fact_of, from_output, merged
from maple_agents.verify.run.runs import Stage, runs_of
from maple_agents.verify.run.watch import Until

from tests.agents.verify.planned import DRY, fact, failed, run_of

HOSTS = ("node-1", "node-2")
SCENE = Scene(Until.REPORTED, None, Names(HOSTS, "7"), "", 60.0)
TORCHRUN = b"srun --ntasks=2 --ntasks-per-node=1 torchrun --nnodes=2 --nproc-per-node=2 --rdzv-backend=c10d train.py\n"
GOOD = [fact(rank) for rank in range(4)]
WAITED = "only ranks 0-1 of 4 came within 5 s, missing 2-3"


def ended(reason: EndReason) -> Scene:
    return dataclasses.replace(SCENE, job=Job("7", JobState.FINISHED, ending=Ending(reason), nodes=HOSTS))


def kinds(facts, scene=SCENE, **more) -> list[str]:
    return [reason.kind.name for reason in reasons_of(run_of(facts, **more), scene)]


def test_all_ranks_at_their_end_is_a_pass():
    assert judged([run_of(GOOD)], SCENE).result.value == "passed"


@pytest.mark.parametrize(
    ("reason", "kind"), [(EndReason.WALLTIME, "WALLTIME"), (EndReason.MEMORY, "KILLED"), (EndReason.EXITED, "KILLED")]
)
def test_ranks_without_a_last_word_are_judged_by_how_the_job_ended(reason, kind):
    facts = [fact(rank, phase="collectives", ok=None, group=None) for rank in range(4)]
    assert kinds(facts, ended(reason)) == [kind]


def test_a_rank_without_a_last_word_is_the_cause_of_what_the_others_say():
    facts = [
        failed(rank, "collectives", "MeetingFailed", "rank 0 was left by the rank before it") for rank in (0, 1, 2)
    ]
    assert kinds([*facts, fact(3, phase="collectives", ok=None, group=None)]) == ["KILLED"]


def test_the_exit_code_counts_for_nothing():
    assert kinds(GOOD, ended(EndReason.EXITED)) == []
    facts = [failed(rank, "rendezvous", "MeetingFailed", WAITED) for rank in (0, 1)]
    assert kinds(facts, ended(EndReason.COMPLETED)) == ["NODE"]


def test_who_waited_for_whom_and_where_is_said():
    facts = [failed(rank, "rendezvous", "MeetingFailed", WAITED) for rank in (0, 1)]
    (reason,) = reasons_of(run_of(facts), SCENE)
    assert reason.hosts == ("node-2",) and reason.ranks == (2, 3)
    assert "ranks 0-1 waited for them at node-1:29500" in reason.says


@pytest.mark.parametrize(
    ("error", "says", "phase", "kind"),
    [
        ("CheckFailed", "the all-reduce over 4 ranks gave 3, not 10", "collectives", "COLLECTIVE"),
        ("TimedOut", "collectives was not over after 5 s", "collectives", "COLLECTIVE"),
        ("TimedOut", "rendezvous was not over after 5 s", "rendezvous", "RENDEZVOUS"),
        ("Stopped", "stopped by signal 15 during rendezvous", "rendezvous", "RENDEZVOUS"),
        ("DistStoreError", "Timed out after 60 s waiting for clients. 2/4 joined.", "rendezvous", "RENDEZVOUS"),
        ("DistNetworkError", "The server socket has failed to listen. EADDRINUSE", "rendezvous", "PORT"),
        ("DistNetworkError", "The IPv4 address of (x, 1) cannot be retrieved (gai error: -2)", "rendezvous", "MASTER"),
        ("ModuleNotFoundError", "No module named 'torch'", "import", "MODULE"),
        ("TimedOut", "import was not over after 60 s", "import", "WALLTIME"),
        ("ImportError", "libcudart.so.12: cannot open shared object file", "import", "MODULE"),
        ("RuntimeError", "CUDA error: invalid device ordinal", "device", "GPU"),
        ("ValueError", "boom", "steps", "CRASHED"),
        ("NoPlace", "RANK is 'x', which is no number", "rendezvous", "RANK"),
        ("NoPlace", "rank 3 cannot be in a world of 2", "rendezvous", "WORLD"),
    ],
)  # fmt: skip
def test_each_error_has_its_reason(error, says, phase, kind):
    assert kinds([failed(rank, phase, error, says) for rank in range(4)])[0] == kind


def test_what_ranks_say_of_others_is_told_only_where_nothing_else_is_known():
    facts = [failed(rank, "collectives", "RuntimeError", "Connection closed by peer [10.0.0.1]:5") for rank in range(4)]
    assert kinds(facts) == ["COLLECTIVE"]
    facts[2] = failed(2, "collectives", "ValueError", "boom")
    assert kinds(facts) == ["CRASHED"]


def test_ranks_that_still_import_when_the_time_is_over_want_more_time():
    facts = [failed(rank, "import", "Stopped", "stopped by signal 15 during import") for rank in range(4)]
    assert kinds(facts, dataclasses.replace(SCENE, until=Until.LATE)) == ["WALLTIME"]
    facts[2] = failed(2, "import", "ImportError", "libcudart.so.12: cannot open shared object file")
    assert kinds(facts) == ["MODULE"]


def test_ranks_that_an_agent_ended_for_one_without_torch_are_not_missing():
    """It ends the others before they can say anything; that the launch itself works was seen just before."""
    facts = [failed(rank, "import", "ModuleNotFoundError", "No module named 'torch'") for rank in (0, 2)]
    run = dataclasses.replace(run_of(facts, TORCHRUN), passed="dry")
    (reason,) = reasons_of(run, SCENE)
    assert reason.kind.name == "MODULE" and reason.says.endswith("with the mini-app dry all ranks came")


def test_the_stage_that_all_passed_is_kept_beside_the_one_that_decides():
    stages = [Stage("dry", 5.0), Stage("ddp", 60.0)]
    line = run_of(GOOD).line
    later = failed(0, "import", "ModuleNotFoundError", "No module named 'torch'", miniapp="ddp")
    (first,), (second,) = runs_of(line, stages, GOOD[:3]), runs_of(line, stages, [*GOOD, later])
    assert (first.stage.app, first.passed) == ("dry", "")
    assert (second.stage.app, second.passed) == ("ddp", "dry")


def test_processes_that_nobody_numbered_train_alone():
    facts = [fact(None, world_size=None, pid=one, group=None, **{"from": {}}) for one in range(4)]
    assert kinds(facts) == ["WORLD"]


def test_two_ranks_of_one_name_are_told_by_their_hosts():
    facts = [failed(0, "rendezvous", "MeetingFailed", WAITED, host=host, pid=pid) for pid, host in enumerate(HOSTS * 2)]
    (reason,) = reasons_of(run_of(facts), SCENE)
    assert reason.kind.name == "DUPLICATE" and "node-1 (2), node-2 (2)" in reason.says and "RANK" in reason.says


def test_a_line_behind_a_condition_may_stay_out():
    run = run_of([], b"if [ -e checkpoint ]; then srun python train.py; fi\n")
    assert reasons_of(run, SCENE) == [] and judged([run], SCENE).result.value == "unclear"


def test_silence_while_torchrun_waits_is_a_rendezvous_and_names_its_deadline():
    scene = dataclasses.replace(SCENE, until=Until.LATE)
    (reason,) = reasons_of(run_of([], TORCHRUN), scene)
    assert reason.kind.name == "RENDEZVOUS" and "within 60 s: torchrun still waits" in reason.says


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("bash: line 1: python3.99: command not found", "INTERPRETER"),
        ("slurmstepd: error: execve(): python: No such file or directory", "INTERPRETER"),
        ("ModuleNotFoundError: No module named 'encodings'", "MODULE"),
        ("AssertionError: Launching training without ssh, but --node_rank is not set correctly.", "RANK"),
        ("ValueError: Num nodes is >1 but no extra nodes available via hostfile", "WORLD"),
        ("RuntimeError: Using hostfile at hf but host=gpu-1 was not reachable via ssh.", "NODE"),
        ("torchrun: error: unrecognized arguments: --no-such", "LAUNCHER"),
        ("srun: error: gpu-1: task 0: Out Of Memory", "KILLED"),
    ],
)  # fmt: skip
def test_the_launchers_own_words_tell_why_nothing_started(text, kind):
    found = in_output("Loading modules\n" + text + "\nsrun: error: gpu-1: task 0: Exited with exit code 1\n")
    assert found is not None and found[0].name == kind


def test_our_own_lines_are_no_symptom():
    assert in_output('MAPLE-FACTS {"error": null}\nslurmstepd: error: *** JOB 7 ON n CANCELLED AT x ***\n') is None


def test_the_second_mini_app_is_judged_only_when_the_first_went_well():
    stages = (DRY, Stage("ddp", 5.0))
    torch = [fact(rank, versions={"torch": "2.13.0"}) for rank in range(4)]
    assert kinds(torch, stages=stages) == ["NOTHING"]
    later = [failed(rank, "steps", "ValueError", "boom", miniapp="ddp") for rank in range(4)]
    assert kinds([*torch, *later], stages=stages) == ["CRASHED"]
    assert kinds([failed(0, "rendezvous", "MeetingFailed", WAITED), *later], stages=stages)[0] in ("NODE", "MISSING")


def test_a_mini_app_that_this_python_cannot_import_is_left_out_unless_it_is_needed():
    assert run_of(GOOD, stages=(DRY, Stage("ddp", 5.0, False))).whole
    assert kinds(GOOD, stages=(DRY, Stage("ddp", 5.0, True))) == ["NOTHING"]


def test_torch_without_gpus_is_a_failure_where_gpus_are_planned_unless_cpus_are_wanted():
    device = {"kind": "cpu", "uuid": None, "numa_node": None}
    facts = [fact(rank, device=device, versions={"torch": "2.13.0"}) for rank in range(4)]
    assert kinds(facts, text=TORCHRUN) == ["GPU"]
    assert kinds(facts, dataclasses.replace(SCENE, wants_gpus=False), text=TORCHRUN) == []


def test_plan_and_facts_are_compared_value_by_value():
    found = compare(run_of(GOOD).step, GOOD, SCENE.names)
    assert found.differences == () and found.known >= 16
    moved = [fact(0), fact(1, local_rank=0), fact(2, world_size=3), fact(3)]
    found = compare(run_of(moved).step, moved, SCENE.names)
    assert [(one.what, one.planned, one.real, one.rank) for one in found.differences] == [
        ("local rank", "1", "0", 1), ("world size", "4", "3", 2),
    ]  # fmt: skip


def test_ranks_on_one_core_and_on_the_wrong_socket_are_told_with_numbers():
    one_core = [fact(rank, machine={"cpus": "3", "numa_nodes": [0]}) for rank in range(4)]
    assert any("all 2 ranks are bound to the one CPU 3" in warning.says for warning in warnings_of(run_of(one_core)))
    gpu = {"kind": "cuda", "uuid": "GPU-1", "numa_node": 1}
    far = [fact(0, device=gpu, machine={"cpus": "0-7", "numa_nodes": [0]}), *GOOD[1:]]
    assert any("NUMA node 0, and its GPU is at NUMA node 1" in one.says for one in warnings_of(run_of(far)))


def test_shared_gpus_single_cpus_and_too_few_cpus_are_told():
    gpu = {"kind": "cuda", "uuid": "GPU-1", "numa_node": None}
    shared = [fact(rank, device=gpu, machine={"cpus": "0", "numa_nodes": [0]}) for rank in range(2)]
    said = " ".join(warning.says for warning in warnings_of(run_of(shared)))
    assert "ranks 0-1 share the GPU GPU-1" in said
    few = [fact(rank, host="node-1", machine={"cpus": "0-1", "numa_nodes": [0]}) for rank in range(4)]
    assert any("4 ranks share 2 CPUs" in warning.says for warning in warnings_of(run_of(few)))


def test_a_node_with_slow_links_is_told_beside_the_median():
    def rate(number: int, host: str, speed: int) -> object:
        call = {"name": "all_reduce", "bytes": 1 << 20, "bytes_per_second": speed}
        return fact(number, host=host, collectives=[call])

    facts = [rate(0, "a", 10**9), rate(1, "b", 10**9), rate(2, "c", 10**8)]
    assert [one.says for one in warnings_of(run_of(facts)) if "moves" in one.says] == [
        "c: all_reduce moves 0.10 GB/s there, 1.00 GB/s on the median node"
    ]


@pytest.mark.parametrize("text", [b"", b"[]", b"{}", b'{"schema": 2}', b'{"schema": 1, "miniapp": 3}', b"[" * 100000])
def test_what_is_no_fact_is_passed_over(text):
    assert from_output(b"0: MAPLE-FACTS " + text + b"\n") == []


def test_values_of_the_wrong_type_are_not_known():
    made = fact_of({"schema": 1, "miniapp": "dry", "host": "h", "pid": 1, "rank": True, "error": 7, "machine": []})
    assert made is not None and (made.rank, made.error, made.cpus(), made.rates()) == (None, "", frozenset(), {})


def test_the_line_tells_the_end_where_the_file_could_not_be_written():
    open_one = fact(0, ok=None, phase="rendezvous")
    assert [one.ok for one in merged([open_one], [fact(0)])] == [True]


def test_whole_worlds_beside_each_other_are_told():
    """Each passes: its ranks found one another, and nobody else."""
    apart = [dataclasses.replace(one, world_size=2, rank=one.rank % 2) for one in GOOD]
    said = [one.says for one in warnings_of(run_of(apart))]
    assert "2 worlds of 2 ranks each ran beside each other, not one of 4" in said
    assert not any("beside each other" in one.says for one in warnings_of(run_of(GOOD)))
