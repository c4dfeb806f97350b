"""The extractor's agent with the models that people have: a server of OpenAI's kind, and transformers itself."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest
from maple_agents.admission.agent.asking import Found, ask
from maple_agents.ask.models.choice import choose

from tests.agents.admission.test_agent import RIGHT, SECRET, folder, sample, script  # noqa: F401
from tests.agents.models.served import Handler, completion, served
from tests.miniapps.started import ROOT, frameworks

HERE = Path(__file__).parent


def playing(turns: list[dict[str, Any]]) -> Any:
    """Return a reply that says one turn after the other; of values, those whose names the schema knows."""

    def reply(handler: Handler) -> None:
        asked = handler.server.asked[-1].body["response_format"]["json_schema"]["schema"]
        known = asked["properties"]["values"]["items"]["properties"]["name"]["enum"]
        turn = turns.pop(0)
        told = {**turn, "values": [value for value in turn["values"] if value["name"] in known]}
        handler.give(200, completion(json.dumps(told)))

    return reply


def test_a_server_is_asked_turn_by_turn_and_hears_no_secret(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:  # noqa: F811
    """Three samples, each with its names in another order; what is not changed is asked for no more."""
    (folder / "train.py").write_text((folder / "train.py").read_text() + "\nTOKEN = '%s'\n" % SECRET)
    monkeypatch.setenv("HOME", str(folder.parent))
    with served(playing(sample(RIGHT) * 3)) as server:
        choice = choose(server.url + "#tiny", os.environ)
        assert choice is not None
        first = ask(choice.model, str(folder), script(folder), (), Found(), choice.limit)
        again = ask(choice.model, str(folder), script(folder), (), first.found, choice.limit)
    assert sorted(list(claim) for claim in first.claims) == sorted(RIGHT)
    assert (first.calls, again.calls, first.wrong) == (27, 0, ()) and again.claims == first.claims
    assert len(server.asked) == 27 and not any(SECRET.encode() in one.raw for one in server.asked)
    assert len({one.body["messages"][1]["content"] for one in server.asked}) == 3
    heard = "".join(one.raw.decode() for one in server.asked)
    assert "31337" not in heard  # of the files beside the folder, hidden, and behind a link


def test_what_a_server_makes_up_is_not_believed(folder: Path) -> None:  # noqa: F811
    """Nor is an answer that is none; why is told."""
    made_up = [["learning_rate", "5e-5", "train.py", 8], ["seed", "42", "train.py", 18]]
    with served(playing(sample(made_up) * 3)) as server:
        choice = choose(server.url + "#tiny", os.environ)
        assert choice is not None and ask(choice.model, str(folder), script(folder), (), Found()).claims == ()
    with served(lambda handler: handler.give(200, completion("the learning rate is 3e-4"))) as server:
        choice = choose(server.url + "#tiny", os.environ)
        assert choice is not None
        found = ask(choice.model, str(folder), script(folder), (), Found())
        assert found.claims == () and len(found.wrong) == 1 and "\n" not in found.wrong[0]


def child(script_: Path, *words: str | Path) -> str:
    """Run a script in the Python that has torch; return what it printed."""
    paths = [ROOT / "agents", ROOT / "submit_filter", ROOT]
    env = {"PATH": os.environ["PATH"], "HOME": str(words[-1]) + "-home", "OMP_NUM_THREADS": "1",
           "PYTHONPATH": os.pathsep.join(map(str, paths))}  # fmt: skip
    argv = [str(frameworks() / "python"), str(script_), *map(str, words)]
    done = subprocess.run(argv, env=env, capture_output=True, text=True, timeout=280)
    assert done.returncode == 0, done.stderr[-3000:]
    return done.stdout


@pytest.mark.timeout(300)
def test_a_local_model_that_knows_nothing_adds_nothing(folder: Path, tmp_path: Path) -> None:  # noqa: F811
    """A tiny Llama made here, loaded by the real code: asked three times, nothing is believed, no file is touched."""
    model = tmp_path / "tiny"
    child(HERE.parent / "models" / "tiny_llama.py", model)
    before = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    told: dict[str, Any] = json.loads(child(HERE / "asked_locally.py", model, folder))
    assert told["claims"] == [] and set(told["asked"]) == {"learning_rate", "seed", "epochs"}
    assert told["calls"] >= 3 and told["network"] == []
    assert told["again"] >= 3 if told["wrong"] else told["again"] == 0
    assert {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()} == before
    print(
        "\na local model was asked %d times, then %d; %s" % (told["calls"], told["again"], told["wrong"] or "answered")
    )
