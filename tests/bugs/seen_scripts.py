"""What `test_seen` asks of all scripts at once, a test a script: a bug is tried by the scripts that reach its line."""

from __future__ import annotations

import os
import re

import pytest
from maple_submit_filter.answer.decision import decide

from tests.submit_filter.seen import FOLDER, block, near
from tests.submit_filter.test_worlds_kept_everywhere import everything

EVERY = {name: (asked, site, read) for name, asked, site, read in (*everything(), *near())}
WAS = {
    found[1]: found[0].rstrip("\n")
    for path in sorted(FOLDER.glob("*.txt"))
    for found in re.finditer(r"^== (.+)\n(?:(?!== ).*\n)*", path.read_text(), re.MULTILINE)
}


@pytest.mark.parametrize("name", sorted(EVERY))
def test_what_is_made_of_a_script_is_what_it_was(name: str) -> None:
    asked, site, read = EVERY[name]
    assert block(name, decide(asked, site, read), asked.script or b"") == WAS[name], os.path.basename(name)
