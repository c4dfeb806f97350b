"""`python -m tests.bugs SEED EACH TO [FOLDER ...]`: EACH bugs of each folder of the heart, a line of JSON each in TO.

The last line printed says how many were noticed, and which were not.
"""

from __future__ import annotations

import json
import os
import sys
from collections import Counter

import pytest

from tests.bugs.plugin import Trials

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
FILTER, RANK = "submit_filter/maple_submit_filter/", "agents/maple_agents/diagnose/rank"
HEART = (*(FILTER + folder for folder in ("plan", "rules", "repair", "answer")), RANK)
# Tests of these folders that run in one process; those that start the front or a lab see no bug of a fork.
NEAREST = {
    FILTER: ["tests/bugs/seen_scripts.py"] + [
        "tests/submit_filter/test_%s.py" % name
        for name in (
            "rules_site", "rules_launch", "rules_pbs", "offers", "fate", "certainty", "worlds_kept", "repair_tries",
            "plan", "plan_pbs", "edits", "earlier", "report", "written_for", "owners", "working_folder", "heart",
            "sbatch_refusals", "pbs_refusals", "frames", "comments", "image_variables", "unread_options", "own_folders",
            "front_answer", "front_qsub_answer",
        )
    ],
    RANK: ["tests/agents/debug/test_%s.py" % name for name in (
        "ranking", "doubts", "excerpts", "corpus", "knowledge_groups", "rounds", "voter", "telling", "conditions",
        "provoked_cases", "corpus_two_files", "script_lines", "fix_corners", "at_end_told",
    )],
}  # fmt: skip


def main(words: list[str]) -> int:
    """Try the bugs and print what became of them; return pytest's exit code."""
    seed, each, to, folders = int(words[0]), int(words[1]), words[2], words[3:] or list(HEART)
    tests = sorted({test for folder in folders for of in NEAREST if folder.startswith(of) for test in NEAREST[of]})
    there = [os.path.join(ROOT, test) for test in tests if os.path.exists(os.path.join(ROOT, test))]
    made = Trials(
        [os.path.join(ROOT, folder) for folder in folders],
        seed,
        each,
        to,
        os.path.join(ROOT, "build", "bugs-reached.jsonl"),
    )
    code = pytest.main(["-q", "-p", "no:cacheprovider", "-p", "no:randomly", *there], plugins=[made])
    with open(to, encoding="utf-8") as file:
        rows = [json.loads(line) for line in file]
    for row in rows:
        if row["was"] != "noticed":
            print("%-9s %s (%s)" % (row["was"], row["bug"].replace(ROOT + "/", ""), row["by"]))
    counts = Counter(row["was"] for row in rows)
    print(
        "%d of %d bugs noticed (%.1f %%)" % (counts["noticed"], len(rows), 100 * counts["noticed"] / max(1, len(rows)))
    )
    return int(code)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
