"""What stands behind the script on the command line: known when it is submitted, and not known before."""

from __future__ import annotations

import pytest
from maple_submit_filter.answer.decision import Decision, decide
from maple_submit_filter.site.facts import GENERIC_PBS, GENERIC_SLURM
from maple_submit_filter.types.submission import Submission

HEAD = b"""#!/bin/bash
#SBATCH --nodes=2
#SBATCH --ntasks-per-node=1
#SBATCH --gpus-per-node=4
export MASTER_ADDR=$(scontrol show hostnames "$SLURM_JOB_NODELIST" | head -n 1)
"""
LINE = b"srun torchrun --nnodes=%s --nproc-per-node=4 --rdzv-backend=c10d --rdzv-endpoint=$MASTER_ADDR:29500 %s\n"


def of_nodes(before: bytes, nodes: bytes = b"$N") -> bytes:
    """A script that makes the number of nodes of its arguments."""
    return HEAD + before + LINE % (nodes, b"train.py")


# Each is wrong on two nodes if it is given no argument, and may be right if it is given some.
SCRIPTS = {
    "program": HEAD + LINE % (b"2", b"$1"),
    "all of it": HEAD + LINE % (b"2", b'"$@"'),
    "all in one word": HEAD + b'WHAT="$*"\n' + LINE % (b"2", b"$WHAT"),
    "the others": HEAD + b"KEPT=$1\n" + LINE % (b"2", b'"${@:2}"'),
    "shifted": HEAD + b"N=$1; shift\n" + LINE % (b"2", b'"$@"'),
    "in an array": HEAD + b'args=("$@")\n' + LINE % (b"2", b'"${args[@]}"'),
    "a value": of_nodes(b"", b"$1"),
    "a default": of_nodes(b"", b"${1:-1}"),
    "a default in a variable": of_nodes(b"N=${1:-1}\n"),
    "a default of the second": of_nodes(b"shift || true\nN=${1:-1}\n"),
    "a sum": of_nodes(b"N=$(( ${1:-1} * 1 ))\n"),
    "asked for": of_nodes(b'N=1\nif [ -n "$1" ]; then N=$1; fi\n'),
    "counted": of_nodes(b"N=1\n[ $# -ge 1 ] && N=$1\n"),
    "counted in arithmetic": of_nodes(b"N=1\nif (( $# > 0 )); then N=$1; fi\n"),
    "chosen": of_nodes(b'case "$1" in big) N=2;; *) N=1;; esac\n'),
    "each": of_nodes(b'N=1\nfor a in "$@"; do case $a in --n=*) N=${a#*=};; esac; done\n'),
    "each without saying so": of_nodes(b"N=1\nfor a; do N=$a; done\n"),
    "as long as there are any": of_nodes(
        b'N=1\nwhile [[ "$#" -gt 0 ]]; do case "$1" in -n) N="$2"; shift 2;; *) break;; esac; done\n'
    ),
    "getopts": of_nodes(b"N=1\nwhile getopts n: o; do case $o in n) N=$OPTARG;; esac; done\n"),
    "of a function": of_nodes(b'f() { N=${1:-1}; }\nf "$@"\n'),
    "behind what is set": of_nodes(b'set -- 2 "$@"\nN=${2:-1}\n'),
    "in a script that is written": HEAD
    + b"cat > x.sh <<END\n"
    + LINE % (b"${1:-1}", b"train.py")
    + b"END\nbash x.sh\n",
}


def decided(script: bytes, words: tuple[bytes, ...] = (), whole: bool = True) -> Decision:
    """What is decided of the script with these words behind it."""
    argv = (b"sbatch", b"job.sh", *words)
    return decide(Submission("slurm", argv, script, "file", b"job.sh", b"/work", 1000, {}, whole), GENERIC_SLURM, None)


def proven(decision: Decision) -> list[str]:
    """The codes of what is certain."""
    return [one.code for one in decision.findings if one.proven]


@pytest.mark.parametrize("script", SCRIPTS.values(), ids=SCRIPTS)
def test_what_may_still_be_said_is_not_missed(script: bytes) -> None:
    """The same script, submitted with nothing behind it, is wrong, and it is known."""
    assert proven(decided(script, whole=False)) == []
    assert proven(decided(script)) != []


@pytest.mark.parametrize("script", SCRIPTS.values(), ids=SCRIPTS)
def test_nothing_is_changed_that_depends_on_arguments(script: bytes) -> None:
    """Not even as an offer."""
    decision = decided(script, whole=False)
    assert decision.repaired is None and decision.offered is None


def test_words_behind_the_script_are_all_of_them() -> None:
    """Where some are known, so is that there are no more."""
    script = of_nodes(b"N=${1:-1}\n")
    assert proven(decided(script, (b"2",), whole=False)) == proven(decided(script, (b"2",))) == []
    assert proven(decided(script, (b"1",), whole=False)) == ["MPL303"]


def test_what_depends_on_no_argument_is_found_all_the_same() -> None:
    """A script that takes some is not left alone for that."""
    script = HEAD + b'echo "run $1 with $# of $@"\n' + LINE % (b"1", b'train.py "$@"')
    assert proven(decided(script, whole=False)) == ["MPL303"]
    assert decided(script, whole=False).offered == decided(script).offered is not None


@pytest.mark.parametrize("option", [b"-n", b"-x"])
def test_options_that_are_given_are_not_missed(option: bytes) -> None:
    """Which option getopts finds next is not followed, so nothing is certain of a value that one may set."""
    assert proven(decided(SCRIPTS["getopts"], (option, b"2"))) == []


def test_qsub_gives_a_script_no_arguments() -> None:
    """So there they are known before it is submitted, too."""
    script = b"#!/bin/bash\n#PBS -l select=2:ncpus=8:ngpus=4\nmpiexec -n 8 --ppn 4 python ${1:+train.py}\n"
    given = [
        decide(
            Submission("pbs", (b"qsub", b"job.sh"), script, "file", b"job.sh", b"/work", 1000, {}, whole), GENERIC_PBS
        )
        for whole in (True, False)
    ]
    assert given[0].findings == given[1].findings
