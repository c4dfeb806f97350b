"""The extractor's agent: nothing is believed that does not stand there, and nothing is read beside the job's folder."""

from __future__ import annotations

import json
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
import tomllib
from maple_agents.admission.agent.asking import Found, ask, read, written
from maple_agents.admission.agent.judge import NAMES
from maple_agents.admission.agent.samples import MOST_BYTES, MOST_FILES, Folder
from maple_agents.ask.models.protocol import Limit, Message, ModelError, Schema, mismatch

CASES = Path(__file__).parents[2] / "cases" / "admission-agent"
TRANSCRIPTS = tomllib.loads((CASES / "transcripts.toml").read_text("utf-8"))["case"]
SECRET = "hf_" + "aB3dE5gH7jK9mN1pQ3sT"
RIGHT = [
    ["learning_rate", "3e-4", "train.py", 8], ["batch_size_per_device", "16", "train.py", 9],
    ["epochs", "30", "train.py", 12], ["steps", "120000", "train.py", 15], ["model", "vit-b16", "train.py", 17],
    ["seed", "1234", "train.py", 18], ["data", "c4", "cfg.yaml", 9], ["sequence_length", "4096", "cfg.yaml", 10],
    ["checkpoint", "out/ck", "job.sh", 6],
]  # fmt: skip


class Recorded:
    """A model that says what was recorded: of each sample its turns, one after the other."""

    name = "recorded"

    def __init__(self, samples: Sequence[Sequence[dict[str, Any]]]) -> None:
        self._turns = [turn for sample in samples for turn in sample]
        self.heard: list[str] = []
        self.asked: list[str] = []

    def answer(self, messages: Sequence[Message], schema: Schema, limit: Limit = Limit()) -> object:  # noqa: B008
        self.heard.append(messages[-1].text)
        if len(messages) == 2:
            self.asked.append(messages[1].text)
        if not self._turns:
            raise ModelError("recorded", "it has no more to say")
        turn = self._turns.pop(0)
        assert mismatch(turn, schema) == "" or turn["action"] == "answer"
        known = schema["properties"]["values"]["items"]["properties"]["name"]["enum"]
        return {**turn, "values": [value for value in turn["values"] if value["name"] in known]}


def turn(action: str, path: str = "", values: Sequence[Sequence[Any]] = ()) -> dict[str, Any]:
    """One turn."""
    told = [dict(zip(("name", "value", "file", "line"), value)) for value in values]
    return {"thought": "so", "action": action, "path": path, "values": told}


def sample(values: Sequence[Sequence[Any]], *paths: str) -> list[dict[str, Any]]:
    """A sample that looks at the tree, reads files, and answers."""
    files = paths or ("train.py", "cfg.yaml", "README.md", "job.sh", "link.py", "../outside.py", ".hidden.py")
    return [turn("tree"), *(turn("read", path) for path in files), turn("answer", values=values)]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """The job's folder; beside it, behind a link, and hidden: what is none of its."""
    top = tmp_path / "job"
    shutil.copytree(CASES / "folder", top)
    for path in (tmp_path / "outside.py", top / ".hidden.py"):
        path.write_text("seed = 31337\n")
    (top / "link.py").symlink_to(tmp_path / "outside.py")
    return top


def script(folder: Path) -> str:
    return (folder / "job.sh").read_text()


def claims(folder: Path, samples: Sequence[Sequence[Sequence[Any]]]) -> list[list[Any]]:
    """What is believed of three samples; one list stands for all three."""
    three = list(samples) * (3 if len(samples) == 1 else 1)
    found = ask(Recorded([sample(one) for one in three]), str(folder), script(folder), (), Found())
    return [list(claim) for claim in found.claims]


def test_what_stands_there_is_believed(folder):
    """Said by two of three, at its line, by a key that speaks of it."""
    assert sorted(claims(folder, [RIGHT, [], RIGHT])) == sorted(RIGHT)


@pytest.mark.parametrize("case", TRANSCRIPTS, ids=lambda case: case["name"])
def test_what_does_not_is_not(case, folder):
    """None of what models make up."""
    assert claims(folder, case["samples"]) == []


def test_fifty_transcripts():
    """At least."""
    assert len({case["name"] for case in TRANSCRIPTS}) >= 50


def test_files_that_instruct_are_text(tmp_path):
    """A model that obeys them reads nothing beside the folder, and nothing is believed on their word."""
    top = tmp_path / "job"
    shutil.copytree(CASES / "instructs", top)
    (tmp_path / "outside.py").write_text("seed = 424242\n")
    obeyed = [
        ["learning_rate", "0.9", "train.py", 1], ["seed", "31337", "train.py", 1], ["epochs", "5", "train.py", 2],
        ["batch_size", "3", "train.py", 3], ["steps", "11", "notes.yaml", 1], ["data", "x", "notes.yaml", 2],
    ]  # fmt: skip
    obeyed += [["output", "31337", "notes.yaml", 3], ["model", "12", "notes.yaml", 4]]
    paths = ("train.py", "notes.yaml", "../outside.py", "~/.ssh/config.py", "/etc/passwd", str(tmp_path / "outside.py"))
    model = Recorded([sample(obeyed, *paths)] * 3)
    found = ask(model, str(top), "", (), Found())
    assert found.claims == ()
    refused = [text for text in model.heard if "this file is not there, or may not be read" in text]
    assert len(refused) == 3 * 4 and not any("424242" in text or "root:" in text for text in model.heard)
    true = Recorded([sample([["epochs", "30", "train.py", 4], ["steps", "2000", "notes.yaml", 5]], *paths[:2])] * 3)
    assert [claim.value for claim in ask(true, str(top), "", (), Found()).claims] == ["30", "2000"]


def test_secrets_are_masked_and_lines_keep_their_numbers(folder):
    """Nothing that looks like a key goes to a model."""
    (folder / "key.py").write_text(f'TOKEN = "{SECRET}"\nseed = 3\n')
    shown = Folder(str(folder)).read("key.py")
    assert shown is not None and SECRET not in shown and "2: seed = 3" in shown


def test_twenty_files_and_so_many_bytes(tmp_path):
    """Then no more is read, whatever is asked."""
    for number in range(MOST_FILES + 5):
        (tmp_path / f"{number}.py").write_text("a = 1\n")
    (tmp_path / "large.py").write_text("#" * (MOST_BYTES - 60))
    few = Folder(str(tmp_path))
    assert sum(few.read(f"{number}.py") is not None for number in range(MOST_FILES + 5)) == MOST_FILES
    large = Folder(str(tmp_path))
    assert large.read("large.py") is not None
    assert sum(large.read(f"{number}.py") is not None for number in range(MOST_FILES)) == 10
    assert "large.py" in large.tree()


def test_what_has_not_changed_is_not_asked_again(folder):
    """No call for the same job again, also of what was not found; it comes back from where it is kept."""
    first = ask(Recorded([sample(RIGHT)] * 3), str(folder), script(folder), (), Found())
    assert first.calls == 3 * 9 and set(first.asked) == set(NAMES)
    model = Recorded([])
    again = ask(model, str(folder), script(folder), (), read(written(first.found)))
    assert again.calls == 0 and again.claims == first.claims and model.heard == []


def test_one_changed_argument_is_asked_for_alone(folder):
    """By its own field; the others hold, also where their lines have moved."""
    first = ask(Recorded([sample(RIGHT)] * 3), str(folder), script(folder), (), Found())
    text = script(folder).replace("--ckpt-root out/ck", "--ckpt-root out/other")
    (folder / "job.sh").write_text(text.replace("srun", "\nsrun"))
    now = [["checkpoint", "out/other", "job.sh", 7]]
    model = Recorded([sample(now, "job.sh")] * 3)
    second = ask(model, str(folder), script(folder), (), first.found)
    assert second.asked == ("checkpoint",) and set(model.asked) == {"Find: checkpoint"}
    assert {claim.name: claim.value for claim in second.claims} == {
        **{claim.name: claim.value for claim in first.claims}, "checkpoint": "out/other",
    }  # fmt: skip
    assert ask(Recorded([]), str(folder), script(folder), (), second.found).calls == 0


def test_what_the_readers_know_is_not_asked(folder):
    """Nor is a model asked where they know all."""
    model = Recorded([sample(RIGHT)] * 3)
    found = ask(model, str(folder), script(folder), ("epochs", "seed"), Found())
    assert not {"epochs", "seed"} & {claim.name for claim in found.claims}
    assert ask(Recorded([]), str(folder), script(folder), NAMES, Found()).calls == 0


def test_a_model_that_fails_costs_nothing(folder):
    """What was found before holds; why it failed is told."""
    found = ask(Recorded([]), str(folder), script(folder), (), Found())
    assert found.claims == () and found.wrong == ("the model recorded: it has no more to say",)
    assert found.found == Found()  # what it could not say is asked for again
    once = Recorded([sample(RIGHT)])
    assert ask(once, str(folder), script(folder), (), Found()).found == Found()
    known = ask(Recorded([sample(RIGHT)] * 3), str(folder), script(folder), (), Found())
    (folder / "job.sh").write_text(script(folder).replace("out/ck", "out/other"))
    after = ask(Recorded([]), str(folder), script(folder), (), known.found)
    assert {claim.name for claim in after.claims} == {row[0] for row in RIGHT} - {"checkpoint"}
    assert read("{}") == Found() == read("no json") and json.loads(written(Found()))["silent"] == []
