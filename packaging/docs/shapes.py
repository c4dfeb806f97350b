"""Writes the JSON schemas of `docs/json/` and the blocks of docs/json.md from the classes of what commands print.

`make docs`, which writes the schema of `maple-fix` anew, too. A block stands between `<!-- shape NAME -->` and
`<!-- end -->`.
"""

from __future__ import annotations

import json
import re
import sys
import typing
from collections.abc import Iterator
from functools import cache, reduce
from operator import or_
from pathlib import Path
from typing import Annotated, Any, Union

import typing_extensions
from maple_agents.cli import forecast, mapping_answers, shapes
from maple_agents.cli.history import answers as history
from maple_agents.cli.new import handover
from maple_agents.cli.templates import pages
from maple_agents.diagnose.tell import schema as fix_schema
from maple_agents.progress import shapes as progress
from maple_agents.scheduling import replay
from maple_agents.templates import catalogue
from maple_agents.verify import report as verify
from maple_daemon.cli import accounting_import, documents, memory_admin, priority, site
from maple_daemon.install import settings
from maple_daemon.install.refusals import Check
from maple_daemon.priority.live import Status
from maple_daemon.window import shapes as report
from pydantic import BaseModel, Field, TypeAdapter

DOCS = Path(__file__).resolve().parents[2] / "docs"
SHAPES: dict[str, Any] = {
    "check": Union[shapes.Check, shapes.Checks],
    "plan": shapes.Plan,
    "new": handover.New,
    "history": history.History,
    "show": history.Show,
    "forecast": forecast.Answer,
    "progress": Union[progress.Whole, progress.Jobs, progress.Answered],
    "report": report.Report,
    "replay": replay.Replay,
    "verify": verify.Answers,
    "templates": Union[pages.OfSite, pages.All, catalogue.Export],
    "site": Union[site.Sites, site.Revisions],
    "doctor": list[Check],
    "docs": documents.Answers,
    "memory": Union[memory_admin.Checked, memory_admin.Corrections],
    "map": mapping_answers.Answer,
    "mode": settings.Modes,
    "import": accounting_import.Imported,
    "priority": Union[Status, priority.Explained],
}
BLOCK = re.compile(r"(<!-- shape (\w+) -->\n).*?(<!-- end -->\n)", re.DOTALL)
WIDE = 120
AGAIN = "{...}"  # a shape that stands in full above


def schema(name: str) -> str:
    """Return the schema of what a command prints, as its file holds it."""
    made = TypeAdapter(known(SHAPES[name])).json_schema(mode="serialization")
    title = {"$schema": "https://json-schema.org/draft/2020-12/schema", "title": f"maple {name} --json"}
    return json.dumps({**title, **{key: value for key, value in made.items() if key != "title"}}, indent=2) + "\n"


def known(shape: Any) -> Any:
    """Return a type in a form that pydantic knows, as JSON has it: a NamedTuple is an object, a tuple a list."""
    if typing.get_origin(shape) is Annotated:
        plain, words = typing.get_args(shape)
        return Annotated[known(plain), Field(examples=words.split("|"))]
    if typing.get_origin(shape) is typing.Literal:
        return shape
    arguments = [known(argument) for argument in typing.get_args(shape) if argument is not ...]
    if isinstance(shape, type) and issubclass(shape, BaseModel):
        return shape
    if fields(shape):
        return _object(shape)
    if typing.get_origin(shape) is Union:
        return reduce(or_, arguments)
    if typing.get_origin(shape) in (tuple, list):
        return list[reduce(or_, arguments)]
    return dict[str, arguments[1]] if typing.get_origin(shape) is dict else str if shape is bytes else shape


@cache
def _object(shape: type) -> Any:
    made = typing_extensions.TypedDict(shape.__name__, {key: known(kind) for key, kind in fields(shape).items()})
    made.__doc__, made.__module__ = shape.__doc__, shape.__module__
    return made


def fields(shape: Any) -> dict[str, Any]:
    """Return the fields of what JSON has as an object with names, {} of anything else."""
    if typing.is_typeddict(shape) or (isinstance(shape, type) and hasattr(shape, "_fields")):
        return typing.get_type_hints(shape, include_extras=True)
    if isinstance(shape, type) and issubclass(shape, BaseModel):
        return {name: field.annotation for name, field in shape.model_fields.items()}
    return {}


def block(name: str) -> str:
    """Return the shape in short: its keys, and behind them what they hold where that is more than one value."""
    shape = SHAPES[name]
    which = typing.get_args(shape) if typing.get_origin(shape) is Union else (shape,)
    seen: set[Any] = set()
    return "\n".join(["```text", *(line for each in which for line in folded(short(each, seen))), "```", ""])


def short(shape: Any, seen: set[Any]) -> str:
    """Return a type in short, "" for one plain value. *seen*: what stands in full already."""
    origin, arguments = typing.get_origin(shape), typing.get_args(shape)
    if fields(shape):
        if shape in seen:
            return AGAIN
        seen.add(shape)
        return "{%s}" % ", ".join(_pair(key, short(kind, seen)) for key, kind in fields(shape).items())
    if origin is Annotated:
        return json.dumps(arguments[1])
    if origin is typing.Literal:
        return "|".join(map(json.dumps, arguments)) if len(arguments) == 1 else ""
    if origin is Union:
        inner = [short(argument, seen) for argument in arguments if argument is not type(None)]
        null = ["null"] if type(None) in arguments else []
        return " | ".join(dict.fromkeys([*filter(None, inner), *null])) if any(inner) else ""
    if origin in (list, tuple):
        return "[%s]" % short(arguments[0], seen)
    return "{NAME: %s}" % (short(arguments[1], seen) or "value") if origin is dict else ""


def _pair(key: str, value: str) -> str:
    return f'"{key}": {value}' if value else f'"{key}"'


def folded(text: str) -> Iterator[str]:
    """Yield the lines of a shape in short; one that goes on is indented by the brackets that are open."""
    line, depth = "", 0
    for part in text.split(", "):
        piece = part + ", "
        if line and len(line + piece.rstrip()) > WIDE:
            yield line.rstrip()
            line = " " * depth
        line += piece
        depth += sum(part.count(bracket) for bracket in "{[") - sum(part.count(bracket) for bracket in "}]")
    yield line.rstrip().rstrip(",")


def files() -> dict[Path, str]:
    """Return what is written, by path."""
    page = DOCS / "json.md"
    text = BLOCK.sub(lambda place: place[1] + block(place[2]) + place[3], page.read_text("utf-8"))
    schemas = {DOCS / "json" / f"{name}.schema.json": schema(name) for name in SHAPES}
    return {page: text, **schemas, Path(fix_schema.__file__).with_name(fix_schema.FILE): fix_schema.text()}


def main() -> None:
    """Write them all, and say which were another."""
    for path, text in files().items():
        path.parent.mkdir(exist_ok=True)
        if not path.exists() or path.read_text("utf-8") != text:
            path.write_text(text, "utf-8")
            sys.stdout.write(f"{path.relative_to(DOCS.parent)}\n")


if __name__ == "__main__":
    main()
