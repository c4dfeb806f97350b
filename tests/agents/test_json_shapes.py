"""Shapes of JSON: one class each, from which schemas and the page for programs are written, and answers fit them."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path
from typing import NamedTuple, Optional, TypedDict

import jsonschema
import pytest
from maple_agents.base import output

from tests.json_shapes import FOLDER, closed, fits

ROOT = Path(__file__).parents[2]
_spec = importlib.util.spec_from_file_location("shapes", ROOT / "packaging" / "docs" / "shapes.py")
assert _spec is not None and _spec.loader is not None
written = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(written)
CASES = sorted((ROOT / "tests" / "cases" / "json").glob("*.json"))
OURS = [path for path in CASES if not path.stem.startswith("fix")]


@pytest.mark.parametrize("path", written.files(), ids=lambda path: path.name)
def test_what_make_docs_writes_is_current(path: Path) -> None:
    """`make docs` writes it."""
    assert path.read_text("utf-8") == written.files()[path]


def test_every_schema_is_of_a_shape_and_every_shape_on_the_page() -> None:
    assert {path.name for path in FOLDER.iterdir()} == {f"{name}.schema.json" for name in written.SHAPES}
    page = (ROOT / "docs" / "json.md").read_text("utf-8")
    assert [name for name in written.SHAPES if f"<!-- shape {name} -->" not in page] == []


@pytest.mark.parametrize("path", CASES, ids=lambda path: path.stem)
def test_a_whole_answer_fits_its_schema(path: Path) -> None:
    """Those of maple-fix fit the schema that it prints."""
    name, answer = path.stem.partition("-")[0], json.loads(path.read_text("utf-8"))
    if name == "fix":
        schema = ROOT / "agents" / "maple_agents" / "diagnose" / "tell" / "fix.schema.json"
        jsonschema.validate(answer, json.loads(schema.read_text("utf-8")))
    else:
        fits(name, answer)


@pytest.mark.parametrize(
    "path", [path for path in CASES if not path.stem.startswith("fix")], ids=lambda path: path.stem
)
def test_an_answer_that_lacks_a_key_or_has_another_does_not_fit(path: Path) -> None:
    """Of each key at the top, and of one that nobody named."""
    name, answer = path.stem.partition("-")[0], json.loads(path.read_text("utf-8"))
    for key in answer:
        with pytest.raises(jsonschema.ValidationError):
            fits(name, {other: value for other, value in answer.items() if other != key})
    with pytest.raises(jsonschema.ValidationError):
        fits(name, {**answer, "another": 1})


def test_a_schema_lets_keys_come() -> None:
    """As the page promises of a version; only tests are strict."""
    answer = json.loads((ROOT / "tests" / "cases" / "json" / "plan.json").read_text("utf-8"))
    jsonschema.validate({**answer, "another": 1}, json.loads((FOLDER / "plan.schema.json").read_text("utf-8")))
    assert closed("plan")["additionalProperties"] is False


class Inner(NamedTuple):
    text: bytes
    places: tuple[int, ...] = ()


class Outer(TypedDict):
    """What it is."""

    inner: list[Inner]
    more: Optional[Inner]


def test_a_named_tuple_is_an_object_and_bytes_are_text(capsys: pytest.CaptureFixture[str]) -> None:
    """Printed so, and so in the schema; bytes that are no UTF-8 can be had again."""
    output.echo(Outer(inner=[Inner(b"\xff", (1, 2))], more=None))
    told = json.loads(capsys.readouterr().out)
    assert told == {"inner": [{"text": "\udcff", "places": [1, 2]}], "more": None}
    shape = written.known(Outer)
    schema = written.TypeAdapter(shape).json_schema()
    jsonschema.validate(told, schema)
    assert written.short(Outer, set()) == '{"inner": [{"text", "places": []}], "more": {...} | null}'
    for wrong in ({**told, "more": 1}, {**told, "inner": [{"text": "a"}]}, {**told, "inner": [["a", [1]]]}):
        with pytest.raises(jsonschema.ValidationError):
            jsonschema.validate(wrong, schema)
