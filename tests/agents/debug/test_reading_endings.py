"""What stands behind the line that says that all is done: the last words of threads are no failure, others are."""

from __future__ import annotations

from pathlib import Path

import pytest
from maple_agents.diagnose.diagnosis import diagnose
from maple_agents.diagnose.read import digest as digesting
from maple_agents.diagnose.read import read
from maple_agents.diagnose.values import Case, Digest, Ended, LogFile, Severity
from maple_agents.templates.knowledge import anchors, entries
from maple_submit_filter.site.facts import GENERIC_SLURM

DONE = "".join(f"step {n} | loss {3 - n / 100:.3f}\n" for n in range(20)) + "Training completed in 1:02:11\n"
THREAD = "Exception in thread Thread-4 (_pin_memory_loop):\n"
FRAMES = (
    'Traceback (most recent call last):\n  File "/a/threading.py", line 1045, in _bootstrap_inner\n    self.run()\n'
)
RESET = "ConnectionResetError: [Errno 104] Connection reset by peer\n"
MEMORY = "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB.\n"


def told(tmp_path: Path, text: str) -> Digest:
    path = tmp_path / "job.out"
    path.write_text(text, "utf-8")
    return read((LogFile(str(path), "both"),), anchors(entries()))


def cause(digest: Digest) -> str:
    case = Case(Ended(id="1", state=None), "slurm", GENERIC_SLURM)
    return diagnose(case, digest, None, entries()).causes[0].cause


def test_a_thread_ends_no_program(tmp_path):
    """Python's exit status does not know of what a thread raised: the run that was done before is good."""
    digest = told(tmp_path, DONE + THREAD + FRAMES + RESET)
    assert digest.ended_well.startswith("Training completed")
    assert cause(digest) == "none"


@pytest.mark.parametrize("behind", [FRAMES + RESET, "RuntimeError: broken\n", THREAD + FRAMES + RESET + "Killed\n"])
def test_other_errors_behind_it_are_not_excused(tmp_path, behind):
    """The main program, or the word that a process was killed, may well have failed the job."""
    digest = told(tmp_path, DONE + behind)
    assert digest.ended_well == ""
    assert cause(digest) != "none"


def test_a_thread_that_says_a_cause_is_heard(tmp_path):
    """What is a sure cause wherever it is said is not called a good run."""
    assert cause(told(tmp_path, DONE + THREAD + FRAMES + MEMORY)) == "gpu_oom"


@pytest.mark.parametrize("day", ["317", "1117"])
def test_a_month_of_one_digit_is_a_month(tmp_path, day):
    """torch writes the month without a zero; its W is a warning whatever the words are."""
    line = "[rank3]:[W%s 07:43:17.123456789 TCPStore.cpp:125] [c10d] recvValue failed: failed to recv, got 0 bytes\n"
    event = told(tmp_path, line % day).events[0]
    assert (event.severity, event.ranks) == (Severity.WARNING, frozenset({3}))


def test_a_search_is_built_once(tmp_path):
    """The same anchors give the same automaton, others another one."""
    assert digesting._search((b"anchored",)) is digesting._search((b"anchored",))
    assert digesting._search((b"anchored",)) is not digesting._search((b"another one",))


NOISE = (
    "/opt/python3.11/multiprocessing/resource_tracker.py:254: UserWarning: resource_tracker: There appear to be 6\n"
    "The node 'n118_2210_0' has failed to shutdown the rendezvous '2811' due to an error of type RendezvousError.\n"
    "Exception ignored in: <function Dictionary.__del__ at 0x7f>\nTypeError: 'NoneType' object is not callable\n"
)


def test_what_finalizers_say_ends_no_program(tmp_path):
    """What is raised while Python ends is a warning, with a traceback or without, and no error behind a good end."""
    digest = told(tmp_path, DONE + NOISE)
    assert digest.ended_well.startswith("Training completed")
    assert {event.severity for event in digest.events} <= {Severity.NOTE, Severity.WARNING}
    assert told(tmp_path, DONE + "TypeError: 'NoneType' object is not callable\n").ended_well == ""


def test_a_bar_that_went_on_is_life(tmp_path):
    """A bar drawn over itself a hundred times behind an error is a hundred lines, one drawn once more is none."""
    bars = [f"\rprep:  1%|x  | {n}/200 [00:02<01:10,  1.37it/s]" for n in range(100)]
    error = "ERROR: could not read sample 7\n"
    moved, stood = (told(tmp_path, "hello\n" + error + text + "\n") for text in ("".join(bars), bars[0] * 2))
    assert [one.behind for digest in (moved, stood) for one in digest.events] == [100, 1]


@pytest.mark.parametrize("last, is_end", [
    ("job ended with 1 at Fri Nov 24 2023 10:15:33", False), ("run exited with 2, after 3 h", False),
    ("run ended with 126", False), ("job finished with code 1.", False), ("training completed, status: 7", False),
    ("training finished with 4 GPUs", True), ("run ended with 0", True), ("job finished with exit code 0", True),
    ("exit codes 0 0 0 0", True), ("epilog: exit codes 0 0 1 0", False), ("results copied, job ends with 0", True),
    ("client: done", True), ("download: done", False), ("[train.py] finished OK", True), ("$ echo $?\n0", True),
    ("$ echo $?\n1", False), ("driver returned 0, cluster stopped, bye", True), ("### exit code of srun: 0 ###", True),
    ("returned 0 results", False), ("status 0.7", False), ("driver returned 1, cluster stopped", False),
])  # fmt: skip
def test_an_end_with_a_number_that_is_not_zero_is_no_good_end(tmp_path, last, is_end):
    """What a script says of its own exit code counts; a number of other things does not."""
    assert bool(told(tmp_path, DONE.replace("Training completed in 1:02:11", last)).ended_well) == is_end


STEPS = "".join(f"step {n} | loss {3 - n / 100:.3f}\n" for n in range(20))
LIMIT = "slurmstepd: error: *** JOB 7 ON n1 CANCELLED AT 2026-01-01T00:00:00 DUE TO TIME LIMIT ***\n"
REQUEUE = "slurmstepd: error: *** JOB 7 ON n1 CANCELLED AT 2026-01-01T00:00:00 DUE TO JOB REQUEUE ***\n"


@pytest.mark.parametrize(
    "text, named",
    [
        (STEPS + "[exiting program after 235.0 minutes] datetime: x\n" + LIMIT, "none"),
        (STEPS + "server stays up until the planned end\n" + LIMIT, "none"),
        (STEPS + LIMIT, "time_limit"),
        (STEPS + "it never stopped as planned\n" + LIMIT, "time_limit"),
        (STEPS + "server stays up until the planned end\n" + MEMORY + LIMIT, "gpu_oom"),
        (STEPS + REQUEUE + STEPS + "job 7 done\n", "none"),
        (STEPS + REQUEUE, "preempted_or_requeued"),
    ],
)
def test_an_end_that_was_meant_is_no_failure(tmp_path, text, named):
    """A program that left before its limit, a server that waited for it, a job that was put back and ran to its end."""
    assert cause(told(tmp_path, text)) == named


def test_a_script_that_ends_has_not_run_what_the_launcher_refused(tmp_path):
    """The last line of a script is its own, and no sign that the step was started."""
    refused = "srun: error: Unable to frobnicate the step: no such thing\n"
    assert cause(told(tmp_path, "Job started\n" + refused + "Job ended at noon\n")) != "none"
    assert cause(told(tmp_path, "Job started\nJob ended at noon\n")) == "none"


@pytest.mark.parametrize("end", ["Job ended at Mon Oct 26 13:57:41 EDT 2020", "+ echo 'training ended with 1'"])
def test_the_time_of_an_end_makes_no_failure_good(tmp_path: Path, end: str) -> None:
    """A script prints it whatever became of its program."""
    log = tmp_path / "slurm-1.out"
    log.write_text(
        'starting\nTraceback (most recent call last):\n  File "a.py", line 1, in <module>\n    import einops\n'
        "ModuleNotFoundError: No module named 'einops'\n%s\n" % end
    )
    known = entries()
    read_of = read((LogFile(str(log), "both"),), anchors(known))
    said = diagnose(Case(Ended(), "slurm", GENERIC_SLURM), read_of, None, known).causes[0]
    assert said.cause == "missing_python_module"


def test_a_log_that_only_stops_is_no_success(tmp_path: Path) -> None:
    """No failure is seen in it, and no more is said."""
    log = tmp_path / "slurm-1.out"
    log.write_text("".join("epoch 1 step %d loss 0.5\n" % step for step in range(50)))
    known = entries()
    read_of = read((LogFile(str(log), "both"),), anchors(known))
    said = diagnose(Case(Ended(), "slurm", GENERIC_SLURM), read_of, None, known).causes[0]
    assert said.cause == "none" and "succeeded" not in said.says


def test_the_same_line_many_times_is_little_life(tmp_path):
    """Lines that differ by numbers alone count a few times behind an error, where nobody trains; others all count."""
    loader = "".join(f"loader: shard {n:05d} opened in {n % 97}.2 ms\n" for n in range(1500))
    text = "hello\nImportError: libx.so: cannot open shared object file: No such file or directory\n" + loader
    names = [a + b + c for a in "ghijklm" for b in "nopqrst" for c in "uvwxyz"]
    others = "".join(f"unpacking {name}\n" for name in names)
    assert told(tmp_path, text).events[0].behind < 40 < told(tmp_path, text + others).events[0].behind
    assert cause(told(tmp_path, text)) == "missing_shared_library"


def test_training_behind_an_error_is_life_however_often_it_says_the_same(tmp_path):
    """Its lines differ by numbers alone too."""
    assert told(tmp_path, "hello\nERROR: could not read sample 7\n" + STEPS * 4).events[0].behind == 80
