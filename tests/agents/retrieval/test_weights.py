"""Which weights are used: the official ones of the package, checked, or those that the user named."""

from __future__ import annotations

import sys
import types

import pytest
from maple_agents.templates.retrieval import minilm
from maple_agents.templates.retrieval.minilm import Weights, check, named
from maple_agents.templates.retrieval.passages import Unavailable


@pytest.fixture
def package(tmp_path, monkeypatch):
    """The package with weights that are not the official ones, and code that must not run."""
    data = tmp_path / "site" / minilm.PACKAGE / "model"
    data.mkdir(parents=True)
    (data.parent / "__init__.py").write_text("raise SystemExit('its code was run')\n")
    (data / minilm.FILE).write_bytes(b"other weights")
    monkeypatch.syspath_prepend(str(tmp_path / "site"))
    return data


def test_the_data_folder_is_found_and_no_code_of_the_package_runs(package):
    found = named({})
    assert found == Weights(str(package), "sha256:" + minilm.SHA256, minilm.SHA256)
    assert minilm.PACKAGE not in sys.modules


def test_weights_with_another_hash_are_refused(package):
    with pytest.raises(Unavailable, match="not the file it should be"):
        check(named({}))


def test_weights_with_the_right_hash_are_taken(package, monkeypatch):
    import hashlib

    monkeypatch.setattr(minilm, "SHA256", hashlib.sha256(b"other weights").hexdigest())
    check(named({}))


def test_weights_that_cannot_be_read_are_refused(package):
    found = named({})
    (package / minilm.FILE).unlink()
    with pytest.raises(Unavailable, match="No such file"):
        check(found)
    with pytest.raises(Unavailable, match="not installed; install"):
        named({})


def test_the_hash_is_that_of_the_official_weights():
    assert minilm.SHA256 == "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"


def test_a_folder_of_the_users_is_taken_as_it_is_and_named_by_its_state(tmp_path):
    folder = tmp_path / "mine"
    (folder / "1_Pooling").mkdir(parents=True)
    (folder / "1_Pooling" / "config.json").write_text("{}")
    first = named({"MAPLE_EMBEDDER": str(folder)})
    assert (first.place, first.sha256) == (str(folder), "")
    check(first)
    assert named({"MAPLE_EMBEDDER": str(folder)}) == first
    (folder / "1_Pooling" / "config.json").write_text('{"pooling": "mean"}')
    assert named({"MAPLE_EMBEDDER": str(folder)}).name != first.name


def test_a_name_on_the_hub_is_taken_as_a_name():
    assert named({"MAPLE_EMBEDDER": "BAAI/bge-small-en-v1.5"}) == Weights(
        "BAAI/bge-small-en-v1.5", "hub:BAAI/bge-small-en-v1.5"
    )


@pytest.mark.parametrize("wanted", ["/no/such/folder", "./here", "~/models/x", "a/b/c"])
def test_a_path_that_is_not_there_is_no_name_on_the_hub(wanted):
    with pytest.raises(Unavailable, match="no such folder"):
        named({"MAPLE_EMBEDDER": wanted})


def test_what_a_library_raises_becomes_one_line(monkeypatch):
    from maple_agents.templates.retrieval.minilm import MiniLM

    def broken(*args, **options):
        raise OSError("We couldn't connect to the hub\nand so on\nand so on")

    monkeypatch.setitem(sys.modules, "sentence_transformers", types.SimpleNamespace(SentenceTransformer=broken))
    with pytest.raises(Unavailable) as error:
        MiniLM(Weights("some/name", "hub:some/name")).vectors(["text"])
    assert str(error.value) == "some/name cannot be loaded: OSError: We couldn't connect to the hub"


def test_the_network_is_off_while_it_loads_and_the_environment_is_as_it_was_after(monkeypatch):
    import os

    from maple_agents.templates.retrieval.minilm import MiniLM

    seen = {}

    def loading(place, **options):
        seen.update({**options, "offline": os.environ.get("HF_HUB_OFFLINE"), "place": place})
        raise OSError("far enough")

    monkeypatch.setenv("TOKENIZERS_PARALLELISM", "true")
    monkeypatch.delenv("HF_HUB_OFFLINE", raising=False)
    before = dict(os.environ)
    monkeypatch.setitem(sys.modules, "sentence_transformers", types.SimpleNamespace(SentenceTransformer=loading))
    with pytest.raises(Unavailable):
        MiniLM(Weights("some/name", "hub:some/name")).vectors(["text"])
    assert (seen["offline"], seen["local_files_only"], seen["trust_remote_code"]) == ("1", True, False)
    assert dict(os.environ) == before
