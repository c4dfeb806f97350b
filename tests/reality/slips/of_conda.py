"""Slips of environment/: a shell that knows no `conda activate`."""

from __future__ import annotations

import re
from typing import Optional

from tests.reality.slips.forms import in_front, unread
from tests.reality.slips.lines import by_srun
from tests.reality.slips.script import Script
from tests.reality.slips.slip import Change, Slip


def _asks_for_conda(script: Script) -> bool:
    """Nothing that may bring conda's function: no file is read, no module is loaded, no login shell runs."""
    brings = (
        rb"source|(?m:^)\.[ \t]|module|\bml\b|conda|mamba|eval|spack|BASH_ENV|bash -\w*[li]|uenv|shifter|container"
        rb"|#!.*(?:-l|login)"
    )
    return not re.search(brings, script.text) and not script.is_pbs


def _in_its_shell(form: bytes) -> Change:
    """Have srun start a shell, which activates and then starts the program."""

    def change(script: Script) -> Optional[bytes]:
        at = script.program
        if (
            at is None
            or b"$" in script.launch
            or b"'" in script.launch
            or b'"' in script.launch[at[0] - script.line.start :]
        ):
            return None
        words = script.text[at[0] : script.line.end]
        return script.put(at[0], script.line.end, form.replace(b"WORDS", words)) if b"\\" not in words else None

    return change


_OWN_SHELL = re.compile(rb"shifter|apptainer|singularity|podman|enroot|conda|mamba|bash -\w*l|BASH_ENV|container")


def _one_line(script: Script) -> bool:
    return by_srun(script) and script.program is not None and not _OWN_SHELL.search(script.text)


SLIPS = [
    Slip(
        "conda activate in a batch shell",
        ("MPL415",),
        _asks_for_conda,
        {
            "alone": in_front(b"conda activate train\n"),
            "behind a PATH": in_front(b"export PATH=$HOME/miniconda3/bin:$PATH\nconda activate train\n"),
            "mamba": in_front(b"mamba activate train\n"),
            "its path": in_front(b"conda activate /work/envs/train\n"),
            "in a function": in_front(b"setup() {\n    conda activate train\n}\nsetup\n"),
            "behind &&": in_front(b'cd "$HOME/run" && conda activate train\n'),
            "deactivate first": in_front(b"conda deactivate; conda activate train\n"),
            "or stop": in_front(b"conda activate train || exit 1\n"),
            "in an if": in_front(b'if [ -z "$CONDA_DEFAULT_ENV" ]; then\n    conda activate train\nfi\n'),
            "in quotes": in_front(b'conda activate "$HOME/envs/train"\n'),
            "micromamba": in_front(b"micromamba activate train\n"),
        },
        {
            **unread(b"conda activate train"),
            "conda.sh": in_front(b". $HOME/miniconda3/etc/profile.d/conda.sh\nconda activate train\n"),
            "hook": in_front(b'eval "$(conda shell.bash hook)"\nconda activate train\n'),
            "run": in_front(b"conda run -n train python -V\n"),
            "bashrc": in_front(b"source ~/.bashrc\nconda activate train\n"),
        },
    ),
    Slip(
        "conda activate in a shell of the tasks",
        ("MPL415",),
        _one_line,
        {
            "bash -c": _in_its_shell(b"bash -c 'conda activate train && WORDS'"),
            "double quotes": _in_its_shell(b'bash -c "conda activate train; WORDS"'),
            "lines": _in_its_shell(b"bash -c '\n    conda activate train\n    WORDS\n'"),
            "sh": _in_its_shell(b"sh -c 'conda activate train && WORDS'"),
            "its path": _in_its_shell(b"/bin/bash -c 'conda activate train && exec WORDS'"),
            "behind cd": _in_its_shell(b"bash -c 'cd $SLURM_SUBMIT_DIR && conda activate train && WORDS'"),
            "env": _in_its_shell(b"env bash -c 'conda activate train && WORDS'"),
            "-e": _in_its_shell(b"bash -ec 'conda activate train; WORDS'"),
        },
        {
            "conda.sh": _in_its_shell(
                b"bash -c 'source ~/miniconda3/etc/profile.d/conda.sh && conda activate train && WORDS'"
            ),
            "login": _in_its_shell(b"bash -lc 'conda activate train && WORDS'"),
            "run": _in_its_shell(b"conda run -n train WORDS"),
            "hook": _in_its_shell(b"bash -c 'eval \"$(conda shell.bash hook)\"; conda activate train; WORDS'"),
        },
        False,
    ),
]
