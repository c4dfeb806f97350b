"""`maple map emit` and `maple map tune`: what is made of a mapping in its own language."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

import click
from maple_submit_filter.answer.report import printable

from ..base.complaint import Complaint
from . import completion


@click.command("emit")
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


@click.command("tune")
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
    new_file(path, text, "name another folder")
    click.echo(printable(f"  written: {path}"))


def new_file(path: str, text: str, remedy: str) -> None:
    """Write a file where none was; what the system refuses is said with the *remedy*."""
    try:
        with open(path, "x") as file:
            file.write(text)
    except OSError as error:
        raise Complaint(f"{path}: {error.strerror}", remedy) from error
