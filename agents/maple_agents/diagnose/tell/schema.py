"""The shape of what `maple-fix --json` prints, as types, and the JSON schema that is made of them.

`fix.schema.json` beside this file is that schema; a test keeps it current. Within a version keys may be added,
and new names of classes and kinds; none is taken away or changes its meaning.
"""

from __future__ import annotations

import json
from typing import Any, Literal, Optional

from maple_submit_filter.types.job_records import STATES
from pydantic import BaseModel, ConfigDict, Field

from ...templates.knowledge.entries import CLASSES, FIX_KINDS

FILE = "fix.schema.json"


class Shape(BaseModel):
    """Keys that are not named here may come; those that are named are all there."""

    model_config = ConfigDict(strict=True, extra="allow")


class Line(Shape):
    """A line that stands so in a log or in the script, secrets masked. *line* counts from 1; 0: the file as a whole."""

    file: str
    line: int = Field(ge=0)
    text: str


class Cause(Shape):
    """A cause. *confidence*: the share of such answers that were right on logs that nothing was learnt from. *likely*:
    it is no more than that. *voters*: who names it, "entries" of the knowledge base or "lines" that are alike.
    """

    cause: str = Field(alias="class", json_schema_extra={"examples": list(CLASSES)})
    says: str
    confidence: float = Field(ge=0, le=1)
    likely: bool = False
    voters: list[str] = []


class Other(Cause):
    """Another cause that it may be, with its lines."""

    evidence: list[Line]


class Fix(Shape):
    """What would make the job run. *diff*: against the submitted script; *argv*: the submit command's words instead.

    *held_back*: why a change is not offered.
    """

    kind: str = Field(json_schema_extra={"examples": list(FIX_KINDS)})
    says: str
    safety: Literal["safe", "ask", "tell"]
    diff: Optional[str]
    argv: Optional[list[str]]
    steps: list[str]
    held_back: Optional[str]


class Passage(Shape):
    """What a document of the site says; *line* 0: not known."""

    file: str
    line: int = Field(ge=0)
    heading: str
    text: str


class RoundFix(Shape):
    """The fix that a round tried."""

    kind: str
    says: str
    safety: Literal["safe", "ask", "tell"]


class Round(Shape):
    """A round of `--rounds`: a fix, how it was tried, and what came of it."""

    round: int
    fix: RoundFix
    copy_: str = Field(alias="copy")
    how: str
    job: Optional[str]
    state: str
    ran: bool
    cause: Cause


class End(Shape):
    """Why there was no further round."""

    how: str
    why: Optional[str]


class Again(Shape):
    """Whether running the same job once more may help, and why."""

    helps: Literal["no", "perhaps", "yes"]
    because: str


class Answer(Shape):
    """The answer of `maple-fix --json`. What is not known is null, or an empty list.

    *cause*: class "none": the job succeeded; "unknown": the logs do not show the cause, and *excerpt* is the
    shortest useful piece. *by*: who says so. *here*: what the site's file says of such a cause. *next*: what to do
    where no cause is known. *again*: whether the same job is worth running again, as it is. *written*, *submitted*:
    only with `--apply` or `--submit`: the copy, and what the submit command said. *rounds*, *ended*: only with
    `--rounds`.
    """

    version: Literal[1]
    job: Optional[str]
    site: str
    site_known_by: Optional[str]
    state: Optional[str] = Field(json_schema_extra={"examples": list(STATES)})
    exit_code: Optional[int]
    cause: Cause
    evidence: list[Line]
    cascade: list[Line]
    fixes: list[Fix]
    by: Literal["rule", "case", "model"]
    others: list[Other]
    excerpt: list[Line]
    documents: list[Passage]
    advice: Optional[str]
    here: list[str]
    next: list[str]
    again: Optional[Again]
    missing: list[str]
    notes: list[str]
    written: Optional[str] = None
    submitted: Optional[str] = None
    rounds: Optional[list[Round]] = None
    ended: Optional[End] = None


def schema() -> dict[str, Any]:
    """Return the JSON schema of `Answer`."""
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **Answer.model_json_schema(by_alias=True)}


def text() -> str:
    """Return the schema as the file holds it."""
    return json.dumps(schema(), indent=2) + "\n"
