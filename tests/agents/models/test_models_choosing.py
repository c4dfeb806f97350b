"""Which model is asked: by option, variable, the user's file or the site's; and to whom a key goes."""

from __future__ import annotations

from pathlib import Path

import pytest
from maple_agents.ask.models.choice import choose
from maple_agents.ask.models.http import HttpModel
from maple_agents.ask.models.local import LocalModel
from maple_agents.ask.models.protocol import Limit, ModelError


@pytest.fixture
def world(tmp_path) -> dict[str, str]:
    """An environment with a home of its own, a site folder, and a folder that looks like a model."""
    (tmp_path / "home/.config/maple").mkdir(parents=True)
    (tmp_path / "etc").mkdir()
    (tmp_path / "llama").mkdir()
    (tmp_path / "llama/config.json").write_text("{}")
    return {"HOME": str(tmp_path / "home"), "MAPLE_ETC": str(tmp_path / "etc")}


def own(world: dict[str, str], text: str) -> None:
    Path(world["HOME"], ".config/maple/model.toml").write_text(text)


def of_site(world: dict[str, str], text: str) -> None:
    Path(world["MAPLE_ETC"], "model.toml").write_text(text)


def name(world: dict[str, str], named: str = "") -> str | None:
    found = choose(named, world)
    return None if found is None else found.model.name


def test_nobody_names_one(world):
    assert choose("", world) is None


def test_the_nearest_one_decides(world):
    of_site(world, 'model = "https://site.example/v1#s"')
    assert name(world) == "https://site.example/v1#s"
    own(world, 'model = "https://own.example/v1#o"')
    assert name(world) == "https://own.example/v1#o"
    world["MAPLE_MODEL"] = "https://variable.example/v1#v"
    assert name(world) == "https://variable.example/v1#v"
    assert name(world, "https://option.example/v1#p") == "https://option.example/v1#p"


@pytest.mark.parametrize("where", ["option", "variable", "own"])
def test_none_means_none_even_if_the_site_has_one(world, where):
    of_site(world, 'model = "https://site.example/v1#s"')
    if where == "own":
        own(world, 'model = "none"')
    if where == "variable":
        world["MAPLE_MODEL"] = "none"
    assert choose("none" if where == "option" else "", world) is None


def test_a_folder_is_a_local_model_and_a_url_a_server(world, tmp_path):
    local, server = choose(str(tmp_path / "llama"), world), choose("http://localhost:8000/v1#tiny", world)
    assert local is not None and isinstance(local.model, LocalModel)
    assert server is not None and isinstance(server.model, HttpModel)


def test_limits_come_from_the_file_that_names_the_model(world):
    own(world, 'model = "https://own.example/v1#o"\nseconds = 5\ntokens = 100')
    found, other = choose("", world), choose("https://other.example/v1#o", world)
    assert found is not None and found.limit == Limit(5, 100)
    assert other is not None and other.limit == Limit()


def test_a_key_goes_to_no_server_that_it_was_not_written_for(world, tmp_path):
    (tmp_path / "key").write_text("the-key\n")
    own(world, f'model = "https://own.example/v1#o"\nkey_file = "{tmp_path}/key"\nplain_http = true')
    found, other = choose("", world), choose("https://other.example/v1#o", world)
    assert found is not None and isinstance(found.model, HttpModel) and found.model._key == "the-key"
    assert other is not None and isinstance(other.model, HttpModel) and other.model._key == ""
    with pytest.raises(ModelError, match="plain http"):
        choose("http://other.example/v1#o", world)
    same = choose("https://own.example/v1#o", world)
    assert same is not None and isinstance(same.model, HttpModel) and same.model._key == "the-key"


def test_the_key_may_come_from_the_environment_or_from_a_file_it_names(world, tmp_path):
    (tmp_path / "key").write_text("of-the-file")
    for told, wanted in (
        ({"MAPLE_MODEL_KEY_FILE": str(tmp_path / "key")}, "of-the-file"),
        ({"MAPLE_MODEL_KEY": "k"}, "k"),
    ):
        found = choose("https://x.example/v1#o", world | told)
        assert found is not None and isinstance(found.model, HttpModel) and found.model._key == wanted


@pytest.mark.parametrize("key", ["zwei worte", "zeile\nzeile", "k\x00y", "schlüssel"])
def test_what_is_no_key_is_refused_and_not_shown(world, key):
    with pytest.raises(ModelError) as caught:
        choose("https://x.example/v1#o", world | {"MAPLE_MODEL_KEY": key})
    assert not [part for part in key.split() if part in str(caught.value)]


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("model = ", "model.toml"), ("model = 4", "cannot be"), ('modell = "x"', "no setting"),
        ("seconds = 0", "cannot be"), ("seconds = true", "cannot be"), ("tokens = 1.5", "cannot be"),
        ("tokens = 9999999", "cannot be"),
        ('plain_http = "yes"', "cannot be"), ('model = "https://x/v1#m"\nkey_file = "/no/such/file"', "/no/such/file"),
        ("seconds = nan", "cannot be"),
    ],
)  # fmt: skip
def test_a_wrong_file_is_one_line_with_its_path(world, text, says):
    own(world, text)
    with pytest.raises(ModelError, match=says) as caught:
        choose("", world)
    assert str(caught.value).isprintable()


@pytest.mark.parametrize(
    "named", ["/no/such/folder", "meta-llama/Llama-3.2-1B", "https://x.example/v1", "gopher://x#m", "x#y"]
)
def test_a_name_that_is_neither_folder_nor_url_is_one_line(world, named):
    with pytest.raises(ModelError) as caught:
        choose(named, world)
    assert str(caught.value).isprintable()
