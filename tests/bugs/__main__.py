"""`python -m tests.bugs [SEED [EACH [FOLDER ...]]]`: EACH bugs of each folder of the heart, and which nobody noticed.

Those of `equal.toml` change nothing that anybody was promised; they are counted apart.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator, Sequence

import pytest
import tomllib

from tests.bugs.plugin import Trial, Trials

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
FILTER, RANK = "submit_filter/maple_submit_filter/", "agents/maple_agents/diagnose/rank"
HEART = (*(FILTER + folder for folder in ("plan", "rules", "repair", "answer")), RANK)
# Every test of these folders but those that start the front or a lab: they see no bug of a fork. Each script of
# `test_seen` has a test of its own here.
NEAREST = {
    FILTER: ("tests/submit_filter", ("tests/bugs/seen_scripts.py",)),
    RANK: ("tests/agents/debug", ()),
}
LEFT_OUT = re.compile(
    r"test_(?:front_(?!answer|qsub_answer|conditions)\w+|seen|shell\w*|lean_typing|helper_image|pbs_against_double"
    r"|reading_(?:fast|hostile)|hostile_files|fix_command|advising_local|finding_\w+|\w+_lab)\.py"
)


def main(words: Sequence[str]) -> int:
    """Try the bugs and print what became of them; return 0 where all but one in twenty were noticed."""
    if not all(word.isdigit() for word in words[:2]) or not all(folder in HEART for folder in words[2:]):
        print("\n".join(["usage: python -m tests.bugs [SEED [EACH [FOLDER ...]]], FOLDER one of", *HEART]))
        return 2
    seed, each = int(words[0]) if words else 20261125, int(words[1]) if words[1:] else 40
    folders = list(words[2:] or HEART)
    tests = sorted({test for folder in folders for of in NEAREST if folder.startswith(of) for test in nearest(of)})
    kept = [os.path.join(ROOT, "build", name) for name in ("bugs-reached.jsonl", "bugs-noticed.jsonl")]
    all_of_them, those = ([os.path.join(ROOT, folder) for folder in names] for names in (HEART, folders))
    made = Trials(ROOT, all_of_them, those, seed, each, *kept)
    paths = [os.path.join(ROOT, test) for test in tests]
    code = pytest.main(["-q", "-p", "no:cacheprovider", "-p", "no:randomly", *paths], plugins=[made])
    equal = equals()
    print("\n".join(_lines(made.trials, equal)))
    print(
        "seed %d, revision %s; %d were noticed by the test that had noticed them before"
        % (seed, _revision(), made.again)
    )
    missed = [trial for trial in made.trials if trial.end != "noticed" and key(trial) not in equal]
    return int(code) or int(20 * len(missed) > len(made.trials))


def nearest(folder: str) -> Iterator[str]:
    """Yield the files of tests for a folder of the heart, by their paths below the root."""
    tests, others = NEAREST[folder]
    yield from others
    for name in sorted(os.listdir(os.path.join(ROOT, tests))):
        if name.startswith("test_") and not LEFT_OUT.fullmatch(name):
            yield os.path.join(tests, name)


def equals() -> dict[tuple[str, str, str, str], str]:
    """Return why a bug is none, by its file, its function and its statement without and with it."""
    with open(os.path.join(HERE, "equal.toml"), "rb") as file:
        rows = tomllib.load(file)["bug"]
    return {(row["file"], row["function"], row["was"], row["becomes"]): row["why"] for row in rows}


def key(trial: Trial) -> tuple[str, str, str, str]:
    """Return what a row of `equal.toml` knows a bug by."""
    return trial.file, trial.function, trial.was, trial.becomes


def _revision() -> str:
    """Return what was tried, "+" behind it where files were changed since."""
    git = ["git", "-C", ROOT, "describe", "--always", "--dirty=+", "--exclude=*"]
    return subprocess.run(git, capture_output=True, text=True).stdout.strip() or "unknown"


def _lines(trials: Sequence[Trial], equal: dict[tuple[str, str, str, str], str]) -> Iterator[str]:
    counts, of = Counter[tuple[str, str]](), Counter[str]()
    for trial in trials:
        end = "equal" if trial.end != "noticed" and key(trial) in equal else trial.end
        folder = "/".join(trial.file.split("/")[1:4] if trial.file.startswith("agents") else trial.file.split("/")[1:3])
        counts[folder, end] += 1
        of[folder] += 1
        if end not in ("noticed", "equal"):
            yield "%-9s %s:%d %s (%s)\n  was      %s\n  becomes  %s" % (
                end, trial.file, trial.line, trial.function, trial.by, trial.was, trial.becomes
            )  # fmt: skip
    for folder in of:
        yield "%-40s %3d of %3d noticed, %d equal" % (
            folder,
            counts[folder, "noticed"],
            of[folder],
            counts[folder, "equal"],
        )
    noticed, same = (sum(count for (_, end), count in counts.items() if end == word) for word in ("noticed", "equal"))
    yield "%d of %d bugs noticed (%.1f %%), %d others are none: %.1f %% of the rest" % (
        noticed, len(trials), 100 * noticed / max(1, len(trials)), same, 100 * noticed / max(1, len(trials) - same)
    )  # fmt: skip


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
