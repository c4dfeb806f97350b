"""Slips of launch/: the words of a launch line, its launcher, its options and its program."""

from __future__ import annotations

import re
from typing import Optional

from tests.reality.slips.forms import on_line, option
from tests.reality.slips.lines import SCRIPT_FILE, TORCHRUN, by_srun, many_workers, torchrun_over_srun
from tests.reality.slips.script import Script
from tests.reality.slips.slip import Change, Slip


def _named_script(script: Script) -> bool:
    return bool(TORCHRUN.search(script.launch)) and bool(SCRIPT_FILE.search(script.launch)) and b"-m " not in re.sub(
        TORCHRUN, b"", script.launch
    )  # fmt: skip


def _python_before(words: bytes) -> Change:
    def change(script: Script) -> Optional[bytes]:
        found = SCRIPT_FILE.search(script.text, script.line.start, script.line.end)
        return script.put(found.start(), found.start(), words) if found is not None else None

    return change


def _options_behind(script: Script) -> Optional[bytes]:
    """Move torchrun's own options behind the script."""
    text = script.launch
    first, file = TORCHRUN.search(text), SCRIPT_FILE.search(text)
    if first is None or file is None or file.start() < first.end():
        return None
    own = text[first.end() : file.start()]
    if not own.strip(b" \t\\\n") or not own.strip().startswith(b"--"):
        return None
    new = text[: first.end()] + b" " + text[file.start() : file.end()] + b" " + own.strip() + text[file.end() :]
    return script.put(script.line.start, script.line.end, new.rstrip(b"\\ \t\n"))


def _no_mpi_words(script: Script) -> bool:
    return by_srun(script) and not script.case.site.startswith("tacc")


def _misspelled(good: bytes, bad: bytes) -> Change:
    return on_line(rb"(?<=[ \t])" + good + rb"(?=[= \t])", bad)


def _quoted_command(script: Script) -> Optional[bytes]:
    line = script.launch
    rest = line.partition(b"srun ")[2]
    if any(sign in rest for sign in (b"'", b'"', b"\\", b"`", b"|", b">", b"<")) or not rest or rest.startswith(b"-"):
        return None
    return script.put(script.line.start, script.line.end, b'CMD="' + rest + b'"\nsrun "$CMD"')


SLIPS = [
    Slip(
        "a launcher of another place",
        ("MPL307",),
        _no_mpi_words,
        {
            "ibrun": on_line(rb"\bsrun\b", b"ibrun"),
            "aprun": on_line(rb"\bsrun\b", b"aprun"),
            "jsrun": on_line(rb"\bsrun\b", b"jsrun"),
        },
    ),
    Slip(
        "python for the script",
        ("MPL313",),
        _named_script,
        {
            "python": _python_before(b"python "),
            "python3": _python_before(b"python3 "),
            "python -u": _python_before(b"python -u "),
            "its path": _python_before(b"/usr/bin/python3 "),
            "$(which python)": _python_before(b"$(which python) "),
            "set above": lambda script: (
                lambda text: text[: script.body] + b"\nPY=python\n" + text[script.body :] if text else None
            )(_python_before(b"$PY ")(script) if b"'" not in script.launch else None),
        },
    ),
    Slip(
        "a dash of a web page",
        ("MPL314", "MPL101"),
        lambda script: bool(TORCHRUN.search(script.launch)),
        {
            "en dash": on_line(rb"(?<=[ \t])--(?=nnodes|nproc)", "–".encode()),
            "em dash": on_line(rb"(?<=[ \t])--(?=nnodes|nproc)", "—".encode()),
            "one of several": on_line(rb"(?<=[ \t])--(?=rdzv|master)", "–".encode()),
            "one dash": on_line(rb"(?<=[ \t])--(?=nnodes|nproc)", b"-"),
        },
    ),
    Slip(
        "options behind the script",
        ("MPL315", "MPL319"),
        lambda script: _named_script(script) and many_workers(script),
        {
            "all of them": _options_behind,
        },
    ),
    Slip(
        "a number that is none",
        ("MPL320",),
        lambda script: torchrun_over_srun(script) and many_workers(script),
        {
            **{
                f"nproc {spelling}": change
                for spelling, change in option(rb"--nproc[-_]per[-_]node", b"$SLURM_TASKS_PER_NODE").items()
                if spelling in ("as it stands", "in quotes", "by a variable", "in a list")
            },
            **{
                f"nnodes {spelling}": change
                for spelling, change in option(rb"--nnodes", b"$SLURM_JOB_NODELIST").items()
                if spelling in ("as it stands", "in quotes", "by a variable", "in a list")
            },
            **{
                f"all {spelling}": change
                for spelling, change in option(rb"--nproc[-_]per[-_]node", b"all").items()
                if spelling in ("as it stands", "by a variable")
            },
            **{
                f"nccl {spelling}": change
                for spelling, change in option(rb"--rdzv[-_]backend", b"nccl").items()
                if spelling in ("as it stands", "in quotes", "by a variable", "in a list")
            },
        },
    ),
    Slip("a command in one word", ("MPL321",), lambda script: by_srun(script), {"srun": _quoted_command}),
    Slip(
        "no such option",
        ("MPL335",),
        lambda script: torchrun_over_srun(script),
        {
            "nproc_per_nodes": _misspelled(rb"--nproc[-_]per[-_]node", b"--nproc_per_nodes"),
            "npro_per_node": _misspelled(rb"--nproc[-_]per[-_]node", b"--npro_per_node"),
            "num_gpus": _misspelled(rb"--nproc[-_]per[-_]node", b"--num_gpus"),
            "nproc-per_nod.": _misspelled(rb"--nproc[-_]per[-_]node", b"--gpus_per_node"),
            "num_nodes": _misspelled(rb"--nnodes", b"--num_nodes"),
            "nodes": _misspelled(rb"--nnodes", b"--nodes"),
            "rdvz": _misspelled(rb"--rdzv[-_]endpoint", b"--rdvz_endpoint"),
            "rdzv_end": _misspelled(rb"--rdzv[-_]endpoint", b"--rdzv-endpoints"),
            "srun's": on_line(rb"\bsrun\b", b"srun --ntask-per-node=1"),
            "srun's cpus": on_line(rb"\bsrun\b", b"srun --cpu-per-task=8"),
            "srun's gpus": on_line(rb"\bsrun\b", b"srun --gpu-per-node=4"),
        },
    ),
    Slip(
        "no word that says what",
        ("MPL337",),
        lambda script: bool(
            re.search(rb"accelerate launch|(?:apptainer|singularity)[ \t]+(?:exec|run)\b", script.launch)
        ),
        {
            "accelerate": on_line(rb"accelerate launch", b"accelerate"),
            "apptainer": on_line(rb"\b(apptainer|singularity)[ \t]+(?:exec|run)\b", rb"\1"),
        },
    ),
    Slip(
        "a sign of the shell",
        ("MPL338",),
        by_srun,
        {
            "-C a&b": on_line(rb"\bsrun\b", b"srun -C gpu&hbm80g"),
            "--constraint=a|b": on_line(rb"\bsrun\b", b"srun --constraint=a100|h100"),
            "--constraint=a&b": on_line(rb"\bsrun\b", b"srun --constraint=gpu&hbm80g"),
        },
        {"in quotes": lambda script: script.swap_launch(rb"\bsrun\b", b'srun -o "a&b.log"')},
    ),
]
