"""What `maple new --json` prints, and its shape, which is stable."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Optional, TypedDict, Union

from ...base.difference import text
from ...base.slots import Assumed, Missing, Slots, Unread

if TYPE_CHECKING:
    from ...base.slots import Lacking
    from ...write.composition import Made
    from ...write.values import Carried
    from .request import Wanted


class New(TypedDict):
    """`maple new`. *script*: null where something is *missing*, or was not understood (*unread* has what stops).

    *slots*: what was said, in normal form. *assumed*: what nobody said, each with its reason. *asks*: what is missing
    with the site's own words, and what it can be. *template*: by which launch template the script was made.
    """

    site: str
    site_known_by: str
    slots: dict[str, Union[int, str]]
    missing: list[str]
    script: Optional[str]
    template: Optional[str]
    assumed: list[Assumed]
    advice: list[str]
    asks: list[Missing]
    unread: list[Unread]


def written(made: Union[Made, Carried], asked: Wanted) -> New:
    """Return the JSON of a script."""
    plan = made.plan
    if plan is None:
        return _new(asked, asked.slots, (), made.advice, script=made.script)
    return _new(asked, plan.said, plan.assumed, made.advice, script=made.script, template=plan.launch.name)


def lacking(asked: Wanted, lacks: Lacking) -> New:
    """Return the JSON where something is missing."""
    return _new(asked, asked.slots, lacks.assumed, lacks.advice, lacks.missing)


def _new(
    asked: Wanted,
    slots: Slots,
    assumed: Sequence[Assumed],
    advice: Sequence[str],
    missing: Sequence[Missing] = (),
    script: Optional[bytes] = None,
    template: Optional[str] = None,
) -> New:
    return New(
        site=asked.cluster.site.id,
        site_known_by=asked.known_by,
        slots=slots.as_json(),
        missing=[lack.slot for lack in missing],
        script=None if script is None else text(script),
        template=template,
        assumed=list(assumed),
        advice=list(advice),
        asks=list(missing),
        unread=list(asked.unread),
    )
