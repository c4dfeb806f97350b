"""`maple map`: whether ranks are on the right hardware, and a picture of it."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, Optional, Tuple

import click
from maple_submit_filter.answer.report import printable

from ..base import json_output
from ..base.complaint import Complaint
from . import completion, mapping_answers
from .groups import Group

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
        json_output.echo(mapping_answers.answer(asked, lines, files))
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
        json_output.echo(mapping_answers.answer(asked, lines, files))
        return 0 if drawn else 1
    for text in _pictures(asked, drawn, files):
        click.echo(printable(text))
    for sentence in filter(None, [note(line) for line in lines]):
        click.echo(printable(f"{asked.name}: {sentence}"))
    if svg and drawn:
        _written(asked, drawn[0], files, svg)
    click.echo(asked.on_site)
    return 0 if drawn else 1


@map.command("emit")
@click.argument("mapping", metavar="MAPPING", shell_complete=completion.files)
@click.option("--hosts", metavar="LIST|FILE", default="", help="Its hosts in their order; nodes list names them too.")
@click.option("--topology", metavar="FILE", default="", shell_complete=completion.files,
              help="What scontrol show topology prints: nodes by leaf wants it.")  # fmt: skip
@click.option("--lstopo", metavar="FILE", default="", shell_complete=completion.files,
              help="A node of the job as lstopo --of xml writes it: pals-cpu-bind wants it.")  # fmt: skip
@click.option("--into", metavar="FOLDER", default="", help="Write the files there; none that is there is changed.")
def emit(mapping: str, hosts: str, topology: str, lstopo: str, into: str) -> None:
    """Write a mapping for those who carry it out: host files, options, orders of axes.

    The language is explained in docs/mapping.md.

    \b
    Examples:
      maple map emit job.map
      maple map emit job.map --hosts "nid[001-004]" --into .
      maple map emit job.map --hosts hosts.txt --topology topology.conf

    Exit code: 0 written, 2 usage, a file that cannot be read, or a mapping that cannot be written so.
    """
    from ..mapping.emit import emitted

    for target, written in emitted(mapping, hosts, topology, lstopo):
        click.echo(f"{target}:")
        for text in written.text.splitlines():
            click.echo("  " + printable(text))
        click.echo(printable(f"  use: {written.use}"))
        if into and written.name:
            _kept(into, written.name, written.text)


@map.command("tune")
@click.argument("mapping", metavar="MAPPING", shell_complete=completion.files)
@click.option("--hosts", metavar="LIST|FILE", default="", help="The job's hosts in their order.")
@click.option("--topology", metavar="FILE", default="", shell_complete=completion.files,
              help="What scontrol show topology prints.")  # fmt: skip
@click.option("--most", metavar="N", type=click.IntRange(1), default=3, show_default=True, help="How many are shown.")
@click.option(
    "--model",
    metavar="FOLDER|URL#NAME",
    default="",
    help="Let a language model propose mappings as well, ten at most; what it proposes is only estimated.",
)
@click.option(
    "--feedback",
    type=click.Choice(["system", "explain", "suggest"]),
    default="suggest",
    show_default=True,
    help="How much the model hears of each: the estimate or mistake, why as well, what to do as well.",
)
def tune(mapping: str, hosts: str, topology: str, most: int, model: str, feedback: str) -> None:
    """Try every order of axes and every way of dealing ranks, and show the best by the estimate.

    The mapping says cluster, links, axes and traffic. On regular machines these ways hold the best one; where leaves
    have unlike numbers of nodes, orders of nodes are searched from the best.

    \b
    Examples:
      maple map tune job.map
      maple map tune job.map --topology topology.conf --hosts "nid[001-016]"
      maple map tune job.map --model ~/models/Llama-3.2-1B-Instruct

    Exit code: 0 shown, 2 usage, a file that cannot be read, or a mapping that says too little.
    """
    from ..mapping.emit import tuned

    trials, own = tuned(mapping, hosts, topology)
    click.echo(printable(f"{mapping}: {own:.3f} s of exchanges a step as written; {len(trials)} ways tried"))
    for trial in trials[:most]:
        note = "" if trial.megatron else "   (no order of Megatron's)"
        click.echo(printable(f"  {trial.seconds:.3f} s  {trial.statements}{note}"))
    click.echo(printable(f"  {trials[-1].seconds:.3f} s  {trials[-1].statements}   (the worst)"))
    for line in _proposed(mapping, hosts, topology, model, feedback) if model else ():
        click.echo(printable(line))


def _proposed(mapping: str, hosts: str, topology: str, named: str, feedback: Any) -> Iterator[str]:
    """Yield what a model proposes, a line each."""
    from ..ask.models.choice import choose
    from ..ask.models.protocol import ModelError
    from ..mapping.emit import asked
    from ..mapping.proposals import proposed

    try:
        choice = choose(named)
    except ModelError as error:
        raise Complaint(f"--model: {error}") from error
    turns = proposed(asked(mapping, hosts, topology), choice.model, feedback, limit=choice.limit) if choice else ()
    for turn in turns:
        outcome = f"{turn.seconds:.3f} s" if turn.seconds is not None else turn.heard
        yield f"  the model: {' ; '.join(turn.mapping.split(chr(10)))}   ({outcome})"


def _kept(folder: str, name: str, text: str) -> None:
    path = os.path.join(folder, name)
    _new(path, text, "name another folder")
    click.echo(printable(f"  written: {path}"))


def _new(path: str, text: str, remedy: str) -> None:
    """Write a file where none was; what the system refuses is said with the *remedy*."""
    try:
        with open(path, "x") as file:
            file.write(text)
    except OSError as error:
        raise Complaint(f"{path}: {error.strerror}", remedy) from error


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

    _new(name, svg(mapping_answers.scene(asked, line, files), f"{asked.name}:{line.line}"), "name a new file")
    click.echo(printable(f"written: {name}"))
