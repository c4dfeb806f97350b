"""The shape of what `maple-fix --json` prints: its answers are made of these types, and its JSON schema too.

`fix.schema.json` beside this file is that schema; a test keeps it current. Within a version keys may be added,
and new names of classes and kinds; none is taken away or changes its meaning.
"""

from __future__ import annotations

import json
from typing import Annotated, Any, Literal, Optional

from maple_submit_filter.types.job_records import STATES
from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

from ...templates.knowledge.entries import CLASSES, FIX_KINDS
from ..read.clean_lines import safe

FILE = "fix.schema.json"


Text = Annotated[str, BeforeValidator(safe)]  # as it may be shown, whatever it was made of


class Shape(BaseModel):
    """Keys that are not named here may come; those that are named are all there."""

    model_config = ConfigDict(strict=True, extra="allow", populate_by_name=True)

    def dumped(self) -> dict[str, object]:
        """Return it as JSON has it; keys that were not given are left out."""
        return self.model_dump(by_alias=True, exclude_unset=True)


class Line(Shape):
    """A line that stands so in a log or in the script, secrets masked. *line* counts from 1; 0: the file as a whole."""

    file: Text
    line: int = Field(ge=0)
    text: Text


class Cause(Shape):
    """A cause. *confidence*: the share of such answers that were right on logs that nothing was learnt from. *likely*:
    it is no more than that. *voters*: who names it, "entries" of the knowledge base, "lines" that are
    alike, "script" (a launch line proven wrong) or "sentence" (what the line says of what kind of thing).
    *named*: what the lines and the scheduler name of this job, by what each is: "port", "asked for".
    """

    cause: Text = Field(
        validation_alias="class", serialization_alias="class", json_schema_extra={"examples": list(CLASSES)}
    )
    says: Text
    confidence: float = Field(ge=0, le=1)
    likely: bool = False
    voters: list[Text] = []
    named: dict[Text, Text] = {}


class Other(Cause):
    """Another cause that it may be, with its lines."""

    evidence: list[Line]


class Fix(Shape):
    """What would make the job run. *diff*: against the submitted script; *argv*: the submit command's words instead.

    *held_back*: why a change is not offered.
    """

    kind: Text = Field(json_schema_extra={"examples": list(FIX_KINDS)})
    says: Text
    safety: Literal["safe", "ask", "tell"]
    diff: Optional[str]
    argv: Optional[list[str]]
    steps: list[Text]
    held_back: Optional[Text]


class Passage(Shape):
    """What a document of the site says; *line* 0: not known."""

    file: Text
    line: int = Field(ge=0)
    heading: Text
    text: Text


class RoundFix(Shape):
    """The fix that a round tried."""

    kind: Text
    says: Text
    safety: Literal["safe", "ask", "tell"]


class Round(Shape):
    """A round of `--rounds`: a fix, how it was tried, and what came of it."""

    round: int
    fix: RoundFix
    copy_: Text = Field(validation_alias="copy", serialization_alias="copy")
    how: Text
    job: Optional[Text]
    state: Text
    ran: bool
    cause: Cause


class End(Shape):
    """Why there was no further round, after how many; *first_try*: the first one ran."""

    how: Text
    why: Optional[Text]
    first_try: bool = False
    rounds: int = 0


class Again(Shape):
    """Whether running the same job once more may help as it is, and why. *changed*: a fix above changes it first."""

    helps: Literal["no", "perhaps", "yes"]
    because: Text
    changed: bool = False


class Answer(Shape):
    """The answer of `maple-fix --json`. What is not known is null, or an empty list.

    *cause*: class "none": the job succeeded; "unknown": the logs do not show the cause, and *excerpt* is the
    shortest useful piece. *by*: who says so. *here*: what the site's file says of such a cause. *next*: what to do
    where no cause is known. *again*: whether the same job is worth running again. *script*: lines of the script that
    have a say in it, where no evidence is of the script. *written*, *submitted*:
    only with `--apply` or `--submit`: the copy, and what the submit command said. *rounds*, *ended*: only with
    `--rounds`.
    """

    version: Literal[1]
    job: Optional[Text]
    site: Text
    site_known_by: Optional[Text]
    state: Optional[Text] = Field(json_schema_extra={"examples": list(STATES)})
    exit_code: Optional[int]
    cause: Cause
    evidence: list[Line]
    cascade: list[Line]
    fixes: list[Fix]
    by: Literal["rule", "case", "model"]
    others: list[Other]
    excerpt: list[Line]
    documents: list[Passage]
    advice: Optional[Text]
    here: list[Text]
    next: list[Text]
    again: Optional[Again]
    missing: list[Text]
    notes: list[Text]
    script: list[Line]
    written: Optional[Text] = None
    submitted: Optional[Text] = None
    rounds: Optional[list[Round]] = None
    ended: Optional[End] = None


def schema() -> dict[str, Any]:
    """Return the JSON schema of `Answer`."""
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **Answer.model_json_schema(by_alias=True)}


def text() -> str:
    """Return the schema as the file holds it."""
    return json.dumps(schema(), indent=2) + "\n"
