"""What logs tell: lines become events, with rank, node and time, the first one first."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from maple_agents.diagnose.read import bare, read
from maple_agents.diagnose.read.templates import template
from maple_agents.diagnose.read.units.clocks import Clock
from maple_agents.diagnose.read.units.prefixes import Labels, labels, prefix
from maple_agents.diagnose.values import Digest, Event, LogFile, Severity

RECORDED = Path(__file__).parents[2] / "cases" / "logs" / "recorded"


def digest(folder: Path, text: str | bytes, *anchors: bytes, **about: object) -> Digest:
    log = folder / "job.log"
    log.write_bytes(text.encode() if isinstance(text, str) else text)
    return read([LogFile(str(log), "both", **about)], anchors)  # type: ignore[arg-type]


def only(found: Digest) -> Event:
    (event,) = found.events
    return event


# --- recorded runs ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("case", sorted(RECORDED.iterdir()), ids=lambda case: case.name)
def test_recorded_runs_are_read(case: Path) -> None:
    """Every telling line of a recorded run stands in an event that sounds bad, numbers aside."""
    found = read([LogFile(str(case / "job.log"), "both")])
    bad = [event for event in found.events if event.severity >= Severity.WARNING]
    told = {template(bare(line)).strip() for event in bad for line in (event.text, *event.unit)}
    for line in (case / "telling.txt").read_text().splitlines():
        assert template(bare(line)).strip() in told, line


def test_first_failing_rank_is_first() -> None:
    """One rank raises, the others only lose their peer: the one stands first."""
    found = read([LogFile(str(RECORDED / "rank-1-raises-an-exception" / "job.log"), "both")])
    first = found.events[0]
    assert (first.exception, first.rank, first.frame) == ("ValueError", 1, ("crash.py", 7))
    assert found.events[0].ranks == {1}
    (lost,) = [event for event in found.events if "Connection closed by peer" in event.text]
    assert lost.ranks == {0, 2, 3} and lost.count == 3


# --- tracebacks --------------------------------------------------------------------------------------------------

PLAIN = """Traceback (most recent call last):
  File "/home/ana/train.py", line 12, in <module>
    main()
  File "/home/ana/train.py", line 8, in main
    model.load_state_dict(state)
    ~~~~~~~~~~~~~~~~~~~~~^^^^^^^
  File "/opt/venv/lib/python3.11/site-packages/torch/nn/modules/module.py", line 2584, in load_state_dict
    raise RuntimeError(
RuntimeError: Error(s) in loading state_dict for Net:
	Missing key(s) in state_dict: "head.weight".
	size mismatch for body.weight: copying a param with shape [2].
"""


def test_traceback_is_one_event(tmp_path: Path) -> None:
    """The exception's line tells it; its message has all its lines; the user's frame is not the library's."""
    event = only(digest(tmp_path, PLAIN))
    assert event.text == "RuntimeError: Error(s) in loading state_dict for Net:"
    assert (event.exception, event.place.line, event.severity) == ("RuntimeError", 9, Severity.ERROR)
    assert event.frame == ("/home/ana/train.py", 8)
    assert event.innermost == ("/opt/venv/lib/python3.11/site-packages/torch/nn/modules/module.py", 2584)
    assert event.unit_at == tuple(range(1, 12)) and "size mismatch" in event.unit[-1]


LABELS = [
    "[rank%d]: ", "%d: ", "[%d] ", "[1,%d]<stderr>:", "x1001c0s1b0n0.hsn.cm 1%d: ", "[default%d]:[rank%d]: ",
    "(worker pid=7%d, ip=10.0.0.1) ", "[worker %d]: ",
]  # fmt: skip


@pytest.mark.parametrize("label", LABELS)
def test_interleaved_ranks_are_taken_apart(tmp_path: Path, label: str) -> None:
    """Lines of two ranks in turns give the traceback of each, with its own frame."""
    one, two = PLAIN.splitlines(), PLAIN.replace("line 8", "line 9").replace("RuntimeError", "KeyError").splitlines()
    mixed = [label.replace("%d", str(rank)) + line for pair in zip(one, two) for rank, line in zip((2, 3), pair)]
    events = digest(tmp_path, "\n".join(mixed)).events
    assert [(event.exception, event.frame) for event in events] == [
        ("RuntimeError", ("/home/ana/train.py", 8)), ("KeyError", ("/home/ana/train.py", 9))]  # fmt: skip
    if "rank" in label or label in ("%d: ", "[%d] ", "[1,%d]<stderr>:"):
        assert [event.rank for event in events] == [2, 3]


def test_interleaved_without_labels(tmp_path: Path) -> None:
    """Two equal tracebacks written into each other are one event, said twice."""
    lines = PLAIN.splitlines()[:9]
    mixed = [lines[0], lines[1], lines[0], lines[1], *(line for line in lines[2:] for _ in "12")]
    event = only(digest(tmp_path, "\n".join(mixed)))
    assert event.count == 2 and event.frame == ("/home/ana/train.py", 8)


def test_chain_in_order(tmp_path: Path) -> None:
    """Of a chain the first exception stands first, and each knows how many came before it."""
    text = (
        'Traceback (most recent call last):\n  File "/a/b.py", line 1, in f\n    {}["x"]\nKeyError: \'x\'\n\n'
        "During handling of the above exception, another exception occurred:\n\n"
        'Traceback (most recent call last):\n  File "/a/b.py", line 3, in g\n    raise OSError\nOSError: disk\n\n'
        "The above exception was the direct cause of the following exception:\n\n"
        'Traceback (most recent call last):\n  File "/a/b.py", line 5, in h\n    raise E\n__main__.Oops: no\n'
    )
    told = [(event.exception, event.chained) for event in digest(tmp_path, text).events]
    assert told == [("KeyError", 0), ("OSError", 1), ("__main__.Oops", 2)]


def test_group_of_exceptions(tmp_path: Path) -> None:
    """Each exception of a group is an event; the group came behind them."""
    text = """  + Exception Group Traceback (most recent call last):
  |   File "/home/ana/g.py", line 3, in <module>
  |     raise ExceptionGroup("eg", [ValueError(1), TypeError(2)])
  | ExceptionGroup: eg (2 sub-exceptions)
  +-+---------------- 1 ----------------
    | ValueError: 1
    +---------------- 2 ----------------
    | Traceback (most recent call last):
    |   File "/home/ana/g.py", line 9, in f
    |     f()
    | TypeError: 2
    +------------------------------------
"""
    events = {event.exception or event.text.strip(): event for event in digest(tmp_path, text).events}
    assert list(events) == ["ExceptionGroup", "| ValueError: 1", "TypeError"]
    assert events["ExceptionGroup"].chained == 1 and events["TypeError"].frame == ("/home/ana/g.py", 9)


def test_syntax_error_without_header(tmp_path: Path) -> None:
    """A script that does not parse leaves no header."""
    event = only(
        digest(tmp_path, "  File \"/home/ana/t.py\", line 3\n    foo(\n       ^\nSyntaxError: '(' was never closed\n")
    )
    assert (event.exception, event.frame, event.place.line) == ("SyntaxError", ("/home/ana/t.py", 3), 4)


def test_truncated_traceback_is_kept(tmp_path: Path) -> None:
    """A log that ends in the middle of a traceback still tells where the process was."""
    event = only(digest(tmp_path, "\n".join(PLAIN.splitlines()[:6])))
    assert event.exception == "" and event.frame == ("/home/ana/train.py", 8)


def test_traceback_behind_a_progress_bar(tmp_path: Path) -> None:
    """A bar has no line feed, so the traceback begins on its line."""
    event = only(
        digest(tmp_path, "\r  3%|x | 3/9 [00:02<01:10,  1.37it/s]\r  4%|x | 4/9 [00:02<01:10,  1.37it/s]" + PLAIN)
    )
    assert event.exception == "RuntimeError" and event.place.line == 9


def test_warned_traceback_is_a_warning(tmp_path: Path) -> None:
    """A traceback whose every line is a warning, and one ignored in a finalizer, killed nobody.

    One behind a warning may well have.
    """
    glog = "W1121 00:40:45.550000 4085 torch/x/api.py:1008] "
    warned = digest(tmp_path, "".join(glog + line + "\n" for line in PLAIN.splitlines()))
    ignored = digest(tmp_path, "Exception ignored in: <function Net.__del__ at 0x7f>\n" + PLAIN)
    for found in (warned, ignored):
        assert [event.severity for event in found.events if event.exception] == [Severity.WARNING]
    behind = digest(tmp_path, "2026-11-21 00:00:00,123 WARNING cache: could not store\n" + PLAIN)
    assert [event.severity for event in behind.events] == [Severity.WARNING, Severity.ERROR]


# --- other units -------------------------------------------------------------------------------------------------


def test_cpp_exception_with_frames(tmp_path: Path) -> None:
    """What it was tells it, not that something was thrown; frames belong to it."""
    text = (
        "terminate called after throwing an instance of 'c10::Error'\n  what():  CUDA error: an illegal memory access\n"
        "Exception raised from check at CUDAException.cpp:44 (most recent call first):\n"
        "frame #0: c10::Error::Error() + 0x57 (0x7f in /x/libc10.so)\nframe #1: clone + 0x43 (0x7f in /lib/libc.so.6)\n"
    )
    event = only(digest(tmp_path, text))
    assert (event.severity, event.place.line, len(event.unit)) == (Severity.FATAL, 2, 5)


def test_open_mpi_signal_and_box(tmp_path: Path) -> None:
    """Open MPI's report of a signal is one event of its node; its boxes are told by the first line that sounds bad."""
    text = (
        "[gpu001:12345] *** Process received signal ***\n[gpu001:12345] Signal: Segmentation fault (11)\n"
        "[gpu001:12345] [ 0] /lib64/libpthread.so.0(+0x12c20)[0x7f]\n[gpu001:12345] *** End of error message ***\n"
        f"{'-' * 74}\nThere are not enough slots available in the system to satisfy the 8\n"
        f"slots that were requested by the application:\n\n  hostname\n\n{'-' * 74}\nall quiet\n"
    )
    signal, box = digest(tmp_path, text).events
    assert signal.text.endswith("Signal: Segmentation fault (11)") and signal.nodes == {"gpu001"}
    assert signal.severity == Severity.FATAL
    assert box.text.startswith("There are not enough slots") and box.behind == 1


BOX = """
===================================================================================
=   BAD TERMINATION OF ONE OF YOUR APPLICATION PROCESSES
=   RANK 1 PID 1234 RUNNING AT node17
=   KILLED BY SIGNAL: 9 (Killed)
===================================================================================
"""


@pytest.mark.parametrize(("text", "rank", "node"), [
    (BOX, 1, "node17"),
    ("x4006c0s6b0n0.hsn.cm.aurora: rank 256 died from signal 11\n", 256, "x4006c0s6b0n0.hsn.cm.aurora"),
    ("prterun noticed that process rank 7 with PID 0 on node gpu0304 exited on signal 6 (Aborted).\n", 7, "gpu0304"),
    ("nid001234: rank 5 exited with code 255\n", 5, "nid001234"),
    ("slurmstepd-gpu-node-1: error: *** STEP 9.0 ON gpu-node-1 CANCELLED AT 2026-11-21T00:53:15\n", None, "gpu-node-1"),
    ("srun: error: gpu-node-1: task 0: Killed\n", None, "gpu-node-1"),
], ids=lambda value: str(value).strip()[:20])  # fmt: skip
def test_who_died_where(tmp_path: Path, text: str, rank: int | None, node: str) -> None:
    """What launchers say of a death: rank and node, and that it was one."""
    event = only(digest(tmp_path, text))
    assert (event.severity, event.rank, set(event.nodes)) == (Severity.FATAL, rank, {node})


def test_fault_handler(tmp_path: Path) -> None:
    """The most recent call stands first there."""
    text = (
        "Fatal Python error: Segmentation fault\n\nCurrent thread 0x00007f (most recent call first):\n"
        '  File "/opt/lib/python3.11/ctypes/x.py", line 12 in crash\n  File "/home/ana/a.py", line 30 in <module>\n'
    )
    event = only(digest(tmp_path, text))
    assert event.innermost == ("/opt/lib/python3.11/ctypes/x.py", 12) and event.frame == ("/home/ana/a.py", 30)


def test_list_of_failures() -> None:
    """torchrun's list: the first observed failure stands before those that it ended, each with rank, node and time."""
    found = read([LogFile(str(RECORDED / "record-raises-and-aborts" / "job.log"), "both")])
    first, others = [
        event for event in found.events if event.nodes == {"localhost"} and event.severity == Severity.FATAL
    ]
    assert first.text.strip().startswith("exitcode  : -6") and first.ranks == {1}
    assert "SIGTERM" in others.text and others.ranks == {0, 2, 3} and first.dated


def test_error_file(tmp_path: Path) -> None:
    """An error file gives its traceback, and its time to the same event in the log."""
    stack = 'Traceback (most recent call last):\n  File "/home/ana/t.py", line 9, in main\n    f()\nValueError: boom\n'
    told = {"message": {"message": "ValueError: boom", "extraInfo": {"py_callstack": stack, "timestamp": "1795339587"}}}
    (tmp_path / "error.json").write_text(json.dumps(told))
    (tmp_path / "job.log").write_text("".join(f"[rank1]: {line}\n" for line in stack.splitlines()))
    files = [LogFile(str(tmp_path / "error.json"), "error-file", rank=1), LogFile(str(tmp_path / "job.log"), "both")]
    event = only(read(files))
    assert (event.at, event.dated, set(event.ranks)) == (1795339587.0, True, {1})
    assert event.place.file.endswith("job.log") and event.count == 1
    alone = only(read(files[:1]))
    assert (alone.exception, alone.place.line, alone.frame) == ("ValueError", 1, ("/home/ana/t.py", 9))


# --- prefixes and times --------------------------------------------------------------------------------------------

TOLD = [
    ("[rank3]: RuntimeError: x", 3, "", "RuntimeError: x"),
    ("[Rank 3] Watchdog", 3, "", "Watchdog"),
    ("rank 3: hello", 3, "", "hello"),
    ("[1,3]<stderr>:boom", 3, "", "boom"),
    ("[prterun-gpu1-77@1,3]<stdout>:boom", 3, "", "boom"),
    ("x1001c0s1b0n0.hsn.cm.polaris 3: boom", 3, "x1001c0s1b0n0.hsn.cm.polaris", "boom"),
    ("[default0]:[rank4]:[E1121 00:41:37.177 P.cpp:523] [Rank 4] Watchdog", 4, "", "Watchdog"),
    ("E1121 00:41:37.177000 8482 torch/x/api.py:1002] failed", None, "", "failed"),
    ("gpu001:123:456 [3] NCCL WARN Call", None, "gpu001", "NCCL WARN Call"),
    ("[gpu001:77] *** Process", None, "gpu001", "*** Process"),
    ("2026-11-21T00:32:33.5Z INFO boom", None, "", "boom"),
    ("[2026-11-21 00:32:33,234] [ERROR] [launch.py:321:kill] [Rank 7] gone", 7, "", "gone"),
    ("Nov 21 00:32:33 gpu-node-1: boom", None, "gpu-node-1", "boom"),
    ("(worker pid=3, ip=10.0.0.1) boom", None, "10.0.0.1", "boom"),
    ("[W socket.cpp:601] [c10d] boom", None, "", "boom"),
    ("[2024-05-08 08:47:31,261] torch.x.api: [ERROR] boom", None, "", "torch.x.api: [ERROR] boom"),
    ("2025:05:23-19:14:38:(172397) |CCL_WARN| boom", None, "", "boom"),
    ("python3: can't open file", None, "", "python3: can't open file"),
    ("rank: 8 - alpha: 16", None, "", "rank: 8 - alpha: 16"),
    ("Error: boom", None, "", "Error: boom"),
    ("[0.1, 0.2] is a list", None, "", "[0.1, 0.2] is a list"),
]


@pytest.mark.parametrize(("line", "rank", "node", "words"), TOLD, ids=[one[0] for one in TOLD])
def test_prefixes(line: str, rank: int | None, node: str, words: str) -> None:
    """Rank, node and the words behind them."""
    told = prefix(line, labels([line]), Clock())
    assert (told.rank, told.node, line[told.start :]) == (rank, node, words)


@pytest.mark.parametrize(
    "line, level, words",
    [
        (
            "2019-01-23 21:21:10.376879: W tensorflow/core/allocator.cc:101] Allocation exceeds",
            "WARNING",
            "Allocation exceeds",
        ),
        ("2019-01-23 21:21:11.073943: F tensorflow/core/conv_ops.cc:713] Check failed", "FATAL", "Check failed"),
        (
            "[2022-11-03 21:18:32,436 E 251378 251378] core_worker.cc:149: Failed to register",
            "ERROR",
            "Failed to register",
        ),
        ("(raylet) [2022-10-27 16:30:03,850 I 98551 98592] (raylet) agent.cc:134: started", "INFO", "started"),
        ("E0704 09:11:41.880 coordination_agent.cc:332] Polled an error", "ERROR", "Polled an error"),
        ("I have failed", "", "I have failed"),
    ],
)
def test_letters_are_levels(line: str, level: str, words: str) -> None:
    """TensorFlow and Ray write the level as a letter behind the time, absl also without a process."""
    found = prefix(line.removeprefix("(raylet) "), Labels(), Clock())
    assert (found.level, line.removeprefix("(raylet) ")[found.start :]) == (level, words)


def test_words_below_an_exception_belong_to_it_without_its_label(tmp_path: Path) -> None:
    """A message of several lines bears the label of its process on the first one only."""
    label = "(APIServer pid=3120) "
    text = "".join(label + line + "\n" for line in PLAIN.splitlines()[:-1])
    found = digest(
        tmp_path, text + label + "pydantic_core.ValidationError: 1 validation error for Config\nValue error, 16 of 8\n"
    )
    (event,) = [one for one in found.events if one.exception]
    assert "Value error, 16 of 8" in event.unit


def test_numbers_are_ranks_only_where_many_lines_bear_them() -> None:
    """`3: ` is a label of `srun -l`, and elsewhere the beginning of a sentence."""
    assert labels(["0: a", "1: b", "2: c", "plain"]).numbered
    assert not labels(["chapter", "3: the end", "and more", "of this", "text"]).numbered
    assert prefix("3: words", Labels(), Clock()).rank is None


def test_time_orders_files(tmp_path: Path) -> None:
    """Of two files the event that was earlier stands first, whichever file is named first."""
    (tmp_path / "a").write_text("2026-11-21 00:00:09 ERROR late\n")
    (tmp_path / "b").write_text("2026-11-21 00:00:03 ERROR early\n")
    found = read([LogFile(str(tmp_path / name), "both") for name in "ab"])
    assert [event.text.split()[-1] for event in found.events] == ["early", "late"]
    assert all(event.dated for event in found.events)
    assert (found.events[1].at or 0.0) - (found.events[0].at or 0.0) == 6


def test_same_death_of_many_ranks_is_one_event(tmp_path: Path) -> None:
    """A hundred files, one event."""
    for rank in range(100):
        (tmp_path / f"rank{rank}.err").write_text(
            f"step 1\nRuntimeError: peer {rank} closed [10.0.0.{rank}]:{9000 + rank}\n"
        )
    event = only(read([LogFile(str(tmp_path / f"rank{rank}.err"), "rank", rank) for rank in range(100)]))
    assert event.count == 100 and event.ranks == set(range(100))


APART = [("exit code 1", "exit code 137"), ("[Errno 2]", "[Errno 28]"), ("signal 9", "signal 11"), ("Xid 79", "Xid 31")]


@pytest.mark.parametrize(("one", "other"), [*APART, ("exitcode: -9", "exitcode: -11")])
def test_numbers_that_name_a_fault_are_kept_apart(one: str, other: str) -> None:
    """An exit code is no mere number."""
    assert template(f"task died: {one}") != template(f"task died: {other}")
    assert template("lost 10.0.0.1:99 after 3.5 s") == template("lost 10.2.0.1:7 after 12.25 s")


# --- what went on --------------------------------------------------------------------------------------------------


def test_life_went_on(tmp_path: Path) -> None:
    """Ordinary lines behind an event are counted, and so is progress, with its last place."""
    steps = "".join(f"epoch 1 step {step} loss {step * 0.5:.3f}\n" for step in range(50))
    found = digest(tmp_path, "hello\nERROR: could not read sample 5\n" + steps + "goodbye to you\n")
    assert (only(found).behind, found.ordinary, found.progress) == (51, 52, 50)
    assert found.last_progress is not None and found.last_progress.line == 52


def test_last_drawing_of_a_bar_is_no_progress(tmp_path: Path) -> None:
    """A bar is drawn once more when its process dies; a bar that went on is progress."""
    bar = "  4%|x | {}/100 [00:02<01:10,  1.37it/s]"
    for last, line in ((4, 4), (5, 15)):
        found = digest(tmp_path, "\n\n\n" + bar.format(4) + "\n" + PLAIN[:380] + "\n\n" + bar.format(last) + "\n")
        assert found.last_progress is not None and found.last_progress.line == line


def test_silent_rank_is_missed(tmp_path: Path) -> None:
    """Each rank that spoke is there with its last line, in the middle of a long log too."""
    lines = [f"[rank{step % 4}]: step {step}" for step in range(60_000)]
    for at in range(30_000, 60_000):
        lines[at] = lines[at].replace("[rank3]", "[rank2]")
    found = digest(tmp_path, "\n".join(lines))
    assert {rank: place.line for rank, place in found.ranks.items()} == {0: 59_997, 1: 59_998, 2: 60_000, 3: 30_000}


ENDS = {
    "Training complete": True, "training finished in 3:12": True, "All done!": True, "Done.": True, "Finished": True,
    "{'train_runtime': 12.1, 'train_loss': 0.3}": True, "`Trainer.fit` stopped: `max_epochs=3` reached.": True,
    "Saved final model to /scratch/out": True, "Epoch 3/3 finished": False, "job finished successfully": True,
    "Finished downloading shards": False, "Training not complete": False, "Loading model done": False,
    "Starting training": False, "Training failed": False, "training will be finished later": False,
    "Epoch 1/3: all steps done": False, "Saving model checkpoint to out/checkpoint-500": False,
    "wandb: View run at https://wandb.ai/x": False, "results written to out.json": True,
}  # fmt: skip


@pytest.mark.parametrize(("line", "well"), ENDS.items(), ids=list(ENDS))
def test_good_ends(tmp_path: Path, line: str, well: bool) -> None:
    """A last line that says that all is done, and one that only sounds so."""
    assert bool(digest(tmp_path, f"step 1 loss 3\n{line}\n").ended_well) == well


def test_good_end_before_an_error_is_none(tmp_path: Path) -> None:
    """What fails behind its good end did not end well."""
    assert digest(tmp_path, "Training complete\nRuntimeError: cannot save\n").ended_well == ""


HARMLESS = [
    "mean squared error: 0.123", "0 errors, 0 warnings", "val_error=0.25 at step 3", "finished without errors",
    "INFO retrying after an error", "exit code 0", "--ignore-errors is set", "error_file: <N/A>",
]  # fmt: skip


@pytest.mark.parametrize("line", HARMLESS)
def test_harmless_words(tmp_path: Path, line: str) -> None:
    """Words that look like an error and are none make no event that sounds bad."""
    assert all(event.severity == Severity.NOTE for event in digest(tmp_path, line + "\n").events)


FRIGHTENING = [
    "[W1121 00:32:33.234761164 TCPStore.cpp:138] [c10d] recvValueWithTimeout failed on Socket(fd=3): Failed to recv",
    "W1121 00:32:33.234000 99 torch/x/dynamic_rendezvous.py:1257] The node 'a' has failed to shutdown the rendezvous "
    "'2' due to an error of type RendezvousConnectionError.",
    "/opt/x.py:3: UserWarning: failed to load image extension: cannot open shared object file",
    "2026-11-21 00:00:00 | WARNING | could not find the cache, fatal for speed",
    "gcc: warning: unrecognized option -x",
]


@pytest.mark.parametrize("line", FRIGHTENING)
def test_warnings_stay_warnings(tmp_path: Path, line: str) -> None:
    """What its writer calls a warning is one, however it sounds; C++ frames below it are a part of it."""
    frames = (
        "Exception raised from recvBytes at Utils.hpp:787 (most recent call first):\nframe #0: c10::Error::Error()\n"
    )
    event = only(digest(tmp_path, f"{line}\n{frames}step 5 loss 0.1\n"))
    assert (event.severity, event.behind, len(event.unit)) == (Severity.WARNING, 1, 3)


def test_what_stands_before_the_words_does_not_join_lines(tmp_path: Path) -> None:
    """A line that begins with a level or a bracket of its own goes on with nothing."""
    text = (
        "/lib64/libc.so.6: version `GLIBC_2.34' not found\nFATAL:   container creation failed\n [WARNING]  not found\n"
    )
    assert [len(event.unit) for event in digest(tmp_path, text).events] == [1, 1, 1]


NO_WORD_OF_ERROR = [
    "/usr/bin/python3: No module named torch", "bash: fork: retry: Resource temporarily unavailable",
    "NVIDIA H100 with CUDA capability sm_90 is not compatible with the current installation.",
    "slurm_script: line 9: DATA: unbound variable", "qsub: Job violates queue and/or server resource limits",
    "Loss is nan, stopping training", "./train.sh: 3: torchrun: not found", "usage: train.py [-h] [--lr LR]",
    "train.py: error: the following arguments are required: --data", "Killed", "Bus error (core dumped)",
]  # fmt: skip


@pytest.mark.parametrize("line", NO_WORD_OF_ERROR)
def test_what_fails_without_saying_error(tmp_path: Path, line: str) -> None:
    """Shells, loaders and schedulers have words of their own."""
    assert only(digest(tmp_path, line + "\n")).severity >= Severity.WARNING


def test_anchors_make_notes(tmp_path: Path) -> None:
    """A line with words of the knowledge base is an event however it sounds; elsewhere it is none."""
    text = "hello\nProvider is tcp;ofi_rxm\nhello again\n"
    assert digest(tmp_path, text).events == ()
    assert only(digest(tmp_path, text, b"Provider is tcp")).severity == Severity.NOTE
