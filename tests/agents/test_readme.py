"""The example in the README is what really comes out."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

README = (Path(__file__).parents[2] / "README.md").read_text(encoding="utf-8")


def test_the_session_in_the_readme_is_a_real_one(maple, tmp_path):
    """Where the words of a rule or the drawing change, run the example again and put its output in the README."""
    (tmp_path / "job.sh").write_text(re.findall(r"```bash\n(.*?)```", README, re.DOTALL)[0])
    (tmp_path / "slurm-4711.out").write_text(re.findall(r"```text\n(.*?)```", README, re.DOTALL)[0])
    session = re.findall(r"```console\n\$ maple (.*?)\n(.*?)```", README, re.DOTALL)
    assert session
    for words, shown in session:
        said = maple(*shlex.split(words))
        if shown.endswith("...\n"):  # on a terminal both are seen; the rest is left out
            assert (said.err + said.out).startswith(shown[:-4])
        else:
            assert said.out == shown
