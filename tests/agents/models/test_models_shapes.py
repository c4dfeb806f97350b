"""An answer is held against its schema here, whatever a server promised; the slot schema bounds every value."""

from __future__ import annotations

import pytest
from maple_agents.ask.models.protocol import mismatch, read
from maple_agents.base.slots import INTEGERS, LAUNCHERS, NAMES, PARADIGMS
from maple_agents.request.by_model import MOST_NUMBER, MOST_TEXT, of_slots


@pytest.mark.parametrize(
    ("value", "schema"),
    [
        (1, {"type": "integer"}), (1.0, {"type": "integer"}), (1.5, {"type": "number"}), (True, {"type": "boolean"}),
        (None, {"type": "null"}), (None, {"type": ["string", "null"]}), ("x", {"enum": ["x", 1]}), (1, {"const": 1}),
        (5, {"minimum": 5, "maximum": 5}), ("ab", {"minLength": 2, "maxLength": 2}),
        ([1], {"items": {"type": "integer"}}),
        ({}, {"type": "object", "properties": {"a": {"type": "null"}}, "additionalProperties": False}),
        ("x", {"anyOf": [{"type": "null"}, {"type": "string"}]}), ("x", {"title": "a", "description": "b"}),
        ("x", {"maximum": 1}), (10**400, {"minimum": 1}),
    ],
)  # fmt: skip
def test_what_conforms_is_taken(value, schema):
    assert mismatch(value, schema) == ""


@pytest.mark.parametrize(
    ("value", "schema"),
    [
        (True, {"type": "integer"}), (1, {"type": "boolean"}), (1.5, {"type": "integer"}), ("1", {"type": "number"}),
        (float("inf"), {"type": "integer"}), ([], {"type": "object"}), (True, {"enum": [1]}), (1, {"const": True}),
        (4, {"minimum": 5}), (6, {"maximum": 5}), ("a", {"minLength": 2}), ("abc", {"maxLength": 2}),
        ([], {"minItems": 1}), ([1, 2], {"maxItems": 1}), ([1, "x"], {"items": {"type": "integer"}}),
        ({}, {"required": ["a"]}),
        ({"b": 1}, {"properties": {"a": {}}, "additionalProperties": False}), (10**400, {"maximum": 1}),
        ({"a": 1}, {"properties": {"a": {"type": "null"}}}), ("x", {"anyOf": [{"type": "null"}, {"type": "integer"}]}),
    ],
)  # fmt: skip
def test_what_does_not_conform_is_told_in_one_line(value, schema):
    said = mismatch(value, schema)
    assert said and said.isprintable() and len(said) < 200


def test_what_a_model_wrote_is_not_repeated():
    """Only where it breaks which word of the schema; a name that nobody asked for is the model's too."""
    schema = {"type": "object", "properties": {"a": {"enum": ["x"]}}, "additionalProperties": False}
    assert mismatch({"a": "s3cret"}, schema) == 'the answer.a breaks enum: ["x"]'
    assert mismatch({"s3cret": 1}, schema) == "the answer breaks additionalProperties: false"


@pytest.mark.parametrize(
    "text", ["", "{", "nothing", '{"a": 1} {"a": 2}', "[NaN]", "[-Infinity]", "[1e999]", "[" * 10**5]
)
def test_what_is_no_json_is_refused(text):
    with pytest.raises(ValueError):
        read(text)


@pytest.mark.parametrize("name", NAMES)
def test_each_slot_has_a_right_value_and_bounds(name):
    """A value of the kind passes; one beyond the bounds, of another kind, without quote or with more does not."""
    right: object = {"paradigm": PARADIGMS[0], "launcher": LAUNCHERS[0]}.get(name, 4 if name in INTEGERS else "x")
    wrong = [0, -1, MOST_NUMBER + 1, "4", True] if name in INTEGERS else ["", "x" * (MOST_TEXT + 1), 4, None, ["x"]]
    wrong += ["nonsense"] if name in ("paradigm", "launcher") else []
    for schema in (of_slots(), of_slots([name])):
        assert mismatch({"slots": [{"slot": name, "value": right, "quote": "q"}]}, schema) == ""
        assert mismatch({"slots": []}, schema) == ""
        for value in wrong:
            assert mismatch({"slots": [{"slot": name, "value": value, "quote": "q"}]}, schema)
        for item in ({"slot": name, "value": right}, {"slot": name, "value": right, "quote": "q", "more": 1}):
            assert mismatch({"slots": [item]}, schema)
        assert mismatch({"slots": [{"slot": name, "value": right, "quote": "q" * (MOST_TEXT + 1)}]}, schema)


@pytest.mark.parametrize("name", NAMES)
def test_a_slot_that_is_not_asked_for_does_not_conform(name):
    others = [one for one in NAMES if one != name]
    value: object = {"paradigm": PARADIGMS[0], "launcher": LAUNCHERS[0]}.get(name, 4 if name in INTEGERS else "x")
    assert mismatch({"slots": [{"slot": name, "value": value, "quote": "q"}]}, of_slots(others))
