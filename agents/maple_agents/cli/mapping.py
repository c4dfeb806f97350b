"""`maple map`: whether ranks are on the right hardware, and a picture of it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, Optional, Tuple

import click
from maple_submit_filter.answer.report import printable

from ..base import output
from ..base.complaint import Complaint
from . import completion, mapping_answers
from .groups import Group
from .mapping_language import emit, new_file, tune

if TYPE_CHECKING:
    from ..ask.submission import Answer as Asked
    from ..mapping.check import Judged
    from ..mapping.question import MachineFiles


_OPTIONS = (
    click.argument("script", metavar="SCRIPT|-", shell_complete=completion.files),
    click.argument("words", nargs=-1, metavar="[-- WORDS...]", type=click.UNPROCESSED),
    click.option("--site", "site_id", metavar="ID|FILE", shell_complete=completion.site_or_file,
                 help="Judge for this site, not for the one we are on."),
    click.option("--topology", metavar="FILE", default="", shell_complete=completion.files,
                 help="What scontrol show topology prints, or topology.conf or topology.yaml, as Topograph has them."),
    click.option("--hosts", metavar="LIST|FILE", default="",
                 help="The job's hosts in their order: nid[001-004], or a file with one a line."),
    click.option("--lstopo", metavar="FILE", default="", shell_complete=completion.files,
                 help="A node of the job as lstopo --of xml writes it; it counts before the site file."),
    click.option("--json", "as_json", is_flag=True, help="Print the answer as JSON; its shape is stable."),
)  # fmt: skip


def _asking(command: Callable[..., Any]) -> Callable[..., Any]:
    for option in reversed(_OPTIONS):
        command = option(command)
    return command


@click.group("map", cls=Group)
def map() -> None:
    """See whether ranks run on the right hardware: which groups cross nodes, what it costs, what would cure it.

    \b
    Examples:
      maple map check job.sh
      maple map show job.sh --svg job.svg
      maple map tune job.map
      maple map emit job.map
    """


map.add_command(emit)
map.add_command(tune)


@map.command("check")
@_asking
def check(
    script: str, words: Tuple[str, ...], site_id: Optional[str], topology: str, hosts: str, lstopo: str, as_json: bool
) -> int:
    """Say which ranks are on the wrong hardware, one line each; nothing is submitted, and nothing is changed.

    Judged are launch lines whose ranks are known: those of srun and mpiexec, and of torchrun with static rendezvous or
    on one node. Sizes of parallel groups are read from the launch line. The estimate is of communication alone, by the
    numbers of the model that the line says, or usual ones. WORDS stand before the script on the command line of sbatch
    or qsub.

    \b
    Examples:
      maple map check job.sh
      maple map check --site alcf-polaris job.sh -- -l select=4
      maple map check job.sh --topology topology.conf --hosts "nid[001-016]"
      maple map check job.sh --json

    Exit code: 0 nothing found, 1 findings, 2 usage, or the script cannot be read.
    """
    from ..mapping.question import MachineFiles, note, offered, sentences

    files = MachineFiles(topology, hosts, lstopo)
    asked, lines = _judged(script, words, site_id, files)
    findings = [finding for line in lines for finding in line.findings]
    if as_json:
        output.echo(mapping_answers.answer(asked, lines, files))
        return 1 if findings else 0
    offers = offered(asked, lines, files)
    for finding, sentence in zip(findings, sentences(findings, asked.name)):
        click.echo(printable(sentence))
        if finding in offers:
            click.echo(printable(f"  offered, in line {offers[finding].line}:"))
            click.echo(printable(f"    - {offers[finding].old}"))
            click.echo(printable(f"    + {offers[finding].new}"))
    for sentence in filter(None, [note(line) for line in lines]):
        click.echo(printable(f"{asked.name}: {sentence}"))
    if not findings and not any(line.note for line in lines):
        click.echo(printable(f"{asked.name}: nothing found"))
    click.echo(asked.on_site)
    return 1 if findings else 0


@map.command("show")
@_asking
@click.option("--svg", metavar="FILE", default="", help="Write the picture as SVG; a file that is there is kept.")
def show(
    script: str,
    words: Tuple[str, ...],
    site_id: Optional[str],
    topology: str,
    hosts: str,
    lstopo: str,
    as_json: bool,
    svg: str,
) -> int:
    """Draw which rank runs on which node, and what the groups of each axis cross.

    \b
    Examples:
      maple map show job.sh
      maple map show job.sh --svg job.svg
      maple map show job.sh --topology topology.conf --hosts "nid[001-016]"

    Exit code: 0 drawn, 1 it is not known which rank runs where, 2 usage, or the script cannot be read.
    """
    from ..mapping.question import MachineFiles, note

    files = MachineFiles(topology, hosts, lstopo)
    asked, lines = _judged(script, words, site_id, files)
    drawn = [line for line in lines if line.placed is not None]
    if as_json:
        output.echo(mapping_answers.answer(asked, lines, files))
        return 0 if drawn else 1
    for text in _pictures(asked, drawn, files):
        click.echo(printable(text))
    for sentence in filter(None, [note(line) for line in lines]):
        click.echo(printable(f"{asked.name}: {sentence}"))
    if svg and drawn:
        _written(asked, drawn[0], files, svg)
    click.echo(asked.on_site)
    return 0 if drawn else 1


def _judged(
    script: str, words: Tuple[str, ...], site_id: Optional[str], files: "MachineFiles"
) -> "tuple[Asked, tuple[Judged, ...]]":
    from ..ask.submission import answer
    from ..mapping import question

    asked = answer(script, words, site_id)
    if asked.decision.plan is None:
        raise Complaint(f"{asked.name}: {asked.decision.why or 'what would start could not be read'}", "maple plan")
    return asked, question.answer(asked, files)


def _pictures(asked: "Asked", drawn: "list[Judged]", files: "MachineFiles") -> Iterator[str]:
    from ..mapping import picture

    for line in drawn:
        yield f"{asked.name}:{line.line}"
        for text in picture.lines(mapping_answers.scene(asked, line, files)):
            yield "  " + text


def _written(asked: "Asked", line: "Judged", files: "MachineFiles", name: str) -> None:
    from ..mapping.picture import svg

    new_file(name, svg(mapping_answers.scene(asked, line, files), f"{asked.name}:{line.line}"), "name a new file")
    click.echo(printable(f"written: {name}"))
