"""What `maple map check` and `maple map show` answer as JSON."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, Optional, TypedDict

if TYPE_CHECKING:
    from ..ask.submission import Answer as Asked
    from ..mapping.check import Judged
    from ..mapping.crossings import Finding as Found
    from ..mapping.offers import Offer as Made
    from ..mapping.question import MachineFiles


class Offer(TypedDict):
    """A line of the script as it stands, and as it would be; after that edit the finding is gone."""

    line: int
    old: str
    new: str


class Finding(TypedDict):
    """What is on the wrong hardware. *times*: the communication, in times of what the cure has; null where unknown.

    *doubt*: why it is no more than likely; null where it is certain.
    """

    kind: Annotated[str, "groups|leaves|cores|far|network"]
    line: int
    says: str
    cause: Optional[str]
    cure: Optional[str]
    times: Optional[float]
    doubt: Optional[str]
    offer: Optional[Offer]


class Axis(TypedDict):
    """One way in which the model is divided. *crosses*: the widest link of its groups; *crossing*: how many do."""

    name: str
    size: int
    groups: list[list[int]]
    crosses: Annotated[str, "gpu|node|leaf|cluster"]
    crossing: int


class Rank(TypedDict):
    """Where a rank runs."""

    rank: int
    node: int
    local_rank: int
    gpu: Optional[int]


class Line(TypedDict):
    """One launch line. *why_not*: why it is not known which rank runs where."""

    line: int
    why_not: Optional[str]
    ranks: list[Rank]
    axes: list[Axis]
    findings: list[Finding]


class Answer(TypedDict):
    """`maple map check` and `maple map show`."""

    site: str
    site_known_by: str
    lines: list[Line]


def scene(asked: "Asked", line: "Judged", files: "MachineFiles") -> Any:
    from ..mapping.check import widest
    from ..mapping.picture import Scene
    from ..mapping.question import machine

    assert line.placed is not None
    here = machine(asked, files)
    crossed = widest(line.mesh, line.placed, here) if line.mesh is not None else {}
    return Scene(line.placed, line.mesh, here, crossed)


def answer(asked: "Asked", lines: "tuple[Judged, ...]", files: "MachineFiles") -> Answer:
    from ..mapping.question import offered

    made = offered(asked, lines, files)
    return Answer(
        site=asked.site.id, site_known_by=asked.known_by, lines=[_line(asked, line, files, made) for line in lines]
    )


def _line(asked: "Asked", line: "Judged", files: "MachineFiles", made: "dict[Found, Made]") -> Line:
    seats = line.placed.seats if line.placed is not None else ()
    return Line(
        line=line.line,
        why_not=line.note or None,
        ranks=[Rank(rank=seat.rank, node=seat.node, local_rank=seat.local, gpu=seat.gpu) for seat in seats],
        axes=_axes(asked, line, files) if line.mesh is not None and line.placed is not None else [],
        findings=[_finding(finding, made.get(finding)) for finding in line.findings],
    )


def _axes(asked: "Asked", line: "Judged", files: "MachineFiles") -> list[Axis]:
    crossed = scene(asked, line, files).crossed
    mesh = line.mesh
    assert mesh is not None
    return [
        Axis(
            name=axis.name,
            size=axis.size,
            groups=[list(group) for group in mesh.groups(axis.name)],
            crosses=crossed[axis.name][0],
            crossing=crossed[axis.name][1],
        )
        for axis in mesh.axes
        if axis.name in crossed
    ]


def _finding(finding: "Found", made: "Optional[Made]") -> Finding:
    offer = Offer(line=made.line, old=made.old, new=made.new) if made is not None else None
    return Finding(
        kind=finding.kind,
        line=finding.line,
        says=finding.says,
        cause=finding.cause or None,
        cure=finding.cure or None,
        times=round(finding.ratio, 2) if finding.ratio is not None else None,
        doubt=finding.doubt or None,
        offer=offer,
    )
