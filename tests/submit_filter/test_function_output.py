"""What a function of the script prints is what bash makes of it, or is not known."""

from __future__ import annotations

import subprocess

import pytest
from maple_submit_filter.answer.decision import decide
from maple_submit_filter.types.submission import Submission

from tests.reality.asked import site

FUNCTIONS = {
    "a line": "size() { echo 8 2; }",
    "an arm": "size() { case $1 in big) echo 8 ;; *) echo 2 ;; esac; }",
    "the last arm": "size() { case $1 in small|tiny) echo 8 ;; *) echo 2 ;; esac; }",
    "a branch": 'size() { if [ "$1" = small ]; then echo 1; elif [[ $1 == b* ]]; then echo 4; else echo 2; fi; }',
    "no branch": "size() { if [ $# -gt 3 ]; then echo 1; fi; echo 3; }",
    "locals": 'size() { local what="$1 one" n=4; declare -r m=2; echo "$what" >&2; echo $((n * m)); }',
    "blanks in a local": 'size() { local all="8 $1"; echo "$all"; }',
    "a function in it": 'half() { echo $(($1 / 2)); }\nsize() { half 16; echo "$(half 4)"; }',
    "defined again": "size() { echo 1; }\nsize() { echo 2; }",
    "behind a file": "source ./nowhere.sh\nsize() { echo 8; }",
}
OPEN = {
    "falls through": "size() { case $1 in big) echo 8 ;& *) echo 2 ;; esac; }",
    "asks a file": "size() { if grep -q big sizes.txt; then echo 8; else echo 2; fi; }",
    "one of two": "if grep -q big sizes.txt; then size() { echo 8; }; else size() { echo 2; }; fi",
    "perhaps another": "size() { echo 8; }\nif grep -q big sizes.txt; then size() { echo 2; }; fi",
    "itself": "size() { size $1; }",
    "to a file": "size() { echo 8; } > /tmp/nowhere",
    "before a file": "size() { echo 8; }\nsource ./unread.sh",
    "one before a file": "if grep -q big sizes.txt; then size() { echo 8; }; else source ./unread.sh; fi",
    "ends": "size() { echo 8; return; echo 2; }",
}
CALL = 'OUT="$(size big)"\n'
HEAD = "#!/bin/bash\n#SBATCH -N 2\n#SBATCH --ntasks-per-node=2\n"


def _word(function: str) -> bytes:
    """Return the last word of the program, behind the function's definition and a call."""
    script = f'{HEAD}{function}\n{CALL}srun python train.py "$OUT"\n'.encode()
    asked = Submission("slurm", (b"sbatch", b"job.sh"), script, "file", b"job.sh", b"/work", 1000, {})
    plan = decide(asked, site("generic-slurm"), None).plan
    assert plan is not None
    return plan.steps[0].program[-1]


@pytest.mark.parametrize("name", FUNCTIONS)
def test_what_a_function_prints_is_what_bash_says(name: str) -> None:
    """Arms, branches and locals; what goes to errors is not in it."""
    said = subprocess.run(
        ["bash", "-c", f'{FUNCTIONS[name]}\n{CALL}printf %s "$OUT"'], capture_output=True, check=True, timeout=20
    )
    assert _word(FUNCTIONS[name]) == said.stdout


@pytest.mark.parametrize("name", OPEN)
def test_what_is_not_decided_is_not_known(name: str) -> None:
    """Where another function, arm or branch may be meant, or the function leaves."""
    assert b"\0" in _word(OPEN[name])


def test_read_takes_the_words_of_a_function() -> None:
    """As people hand sizes on."""
    script = 'size() { echo 8 2; }\nread -r TP PP <<< "$(size)"\nOUT=$TP-$PP'
    assert _word(f"{script}\nsize() {{ echo $OUT; }}") == b"8-2"
