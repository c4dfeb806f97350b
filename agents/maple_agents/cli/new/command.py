"""`maple new`: a batch script for this cluster, from words or from another cluster's script."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, List, Optional, Tuple, Union

import click

from ...base import new_file as new_output
from ...base.complaint import Complaint
from ...base.slots import NAMES
from ...base.terminal import at_terminal, coloured
from .. import completion
from . import handover, page
from .request import Wanted, heard, held_against, wanted, without_old

if TYPE_CHECKING:
    from maple_agents.base.slots import Assumed, Lacking, Missing, Slot
    from maple_agents.request.script.parts import Foreign
    from maple_agents.write.composition import Made
    from maple_agents.write.values import Carried

ROUNDS = 4  # an answer can bring up another question; no slot is asked for twice


class RequestCommand(click.Command):
    """A command whose request may begin with a dash, as a pasted list and pasted options do."""

    def parse_args(self, ctx: click.Context, args: List[str]) -> List[str]:
        """Read the words; one that holds blanks and begins with a dash is a request, if no option of ours begins it."""
        own = tuple(name for param in self.params for name in param.opts)
        return super().parse_args(ctx, [" " + word if _is_request(word, own) else word for word in args])


def _is_request(word: str, own: Tuple[str, ...]) -> bool:
    first = word.split(None, 1)[0] if word.strip() else ""
    return word.startswith("-") and first != word and first.partition("=")[0] not in own


@click.command(cls=RequestCommand)
@click.argument("words", metavar="[REQUEST]", nargs=-1)
@click.option(
    "--from",
    "from_",
    metavar="SCRIPT|-",
    shell_complete=completion.files,
    help="Convert this script from another cluster to this site.",
)
@click.option(
    "--site",
    "site_id",
    metavar="ID|FILE",
    shell_complete=completion.site_or_file,
    help="Write for this site instead of the current one.",
)
@click.option(
    "--set",
    "sets",
    metavar="SLOT=VALUE",
    multiple=True,
    shell_complete=completion.slots,
    help="Set one slot; it overrides the request.",
)
@click.option(
    "-o",
    "--output",
    metavar="FILE",
    shell_complete=completion.files,
    help="Write the script to a new file; nothing is overwritten.",
)
@click.option("--json", "as_json", is_flag=True, help="Print the answer as JSON; its shape is stable.")
@click.option("--verify", "verified", is_flag=True, help="Run it with mini-apps first; write it only if they pass.")
@click.option(
    "--model",
    metavar="NAME|PATH|URL",
    default="",
    shell_complete=completion.files,
    help="Use a language model for what the grammar cannot read.",
)
def new(
    words: Tuple[str, ...],
    from_: Optional[str],
    site_id: Optional[str],
    sets: Tuple[str, ...],
    output: Optional[str],
    as_json: bool,
    verified: bool,
    model: str,
) -> int:
    """Write a batch script for this cluster: from words, or from a script of another cluster.

    What the site demands and nobody said is asked for on a terminal, and listed elsewhere; nothing is invented. What
    was taken by default is told on stderr. The script passes `maple check`.

    \b
    Examples:
      maple new \\
        "fine-tune Llama-3.1-8B with ZeRO-3, 4 nodes, 12 h, account abc123"
      maple new --from perlmutter_job.sh --site ncsa-delta -o delta_job.sh
      maple new "train.py --lr 1e-4 with DDP on 2 nodes" \\
        --site alcf-polaris --set filesystems=home:eagle --json

    Slots: {slots}.

    Exit code: 0 written, 1 the mini-app failed, 2 usage or refused, 3 something is missing, or was not understood.
    """
    text = " ".join(words)
    if not text.strip() and not from_ and not sets:
        raise Complaint("nothing is asked for", 'say what to run: maple new "train.py with DDP on 2 nodes, 1 hour"')
    if output is not None:
        new_output.free(output)
    asked = heard(wanted(text, sets, site_id, model))
    can_ask = not as_json and at_terminal()
    for line in page.read_back(asked) if can_ask else ():
        click.echo(line, err=True, color=coloured())
    if any(unread.stops for unread in asked.unread) and not can_ask:
        return handover.unread(asked, as_json)
    foreign = _foreign(from_) if from_ else None
    if any(unread.stops for unread in asked.unread):
        asked = page.settled(asked, _trial(asked, foreign))
    try:
        asked, script = _witnessed(asked, foreign, can_ask)
    except ValueError as error:
        raise _complaint(error) from error
    from maple_agents.base.slots import Lacking

    if any(unread.stops for unread in asked.unread):
        return handover.unread(asked, as_json)
    if isinstance(script, Lacking):
        return handover.missing(asked, script, as_json)
    return handover.hand_over(asked, script, output, as_json, verified)


new.help = (new.help or "").replace("{slots}", ", ".join(NAMES))  # those that --set takes


def _complaint(error: ValueError) -> Exception:
    """Return what cannot be had in one line, and a mistake of ours as the mistake that it is."""
    from maple_agents.base.slots import Refused
    from maple_agents.write.composition import Mistaken

    return Complaint(str(error)) if isinstance(error, (Refused, Mistaken)) else error


def _witnessed(
    asked: Wanted, foreign: "Optional[Foreign]", can_ask: bool
) -> "Tuple[Wanted, Union[Made, Carried, Lacking]]":
    """Return the script with each name of the words that it lacks as told, or as what stops where nobody can be asked.

    Whoever can be asked is, and the script is made anew with the answers.
    """
    from maple_agents.base.slots import Lacking

    asked, script = _settled(asked, foreign, can_ask)
    if isinstance(script, Lacking):
        return asked, script
    assumed = script.plan.assumed if script.plan is not None else ()
    asked = held_against(asked, script.script, assumed, script.advice)
    stops = any(unread.stops for unread in asked.unread)
    if stops and can_ask:
        return _settled(page.settled(asked, _trial(asked, foreign)), foreign, can_ask)
    return asked, script


def _settled(
    asked: Wanted, foreign: "Optional[Foreign]", can_ask: bool
) -> "Tuple[Wanted, Union[Made, Carried, Lacking]]":
    """Return the script, or what is still missing once everybody who can be asked was asked.

    No slot is asked for twice, unless its answer cannot be had.
    """
    from maple_agents.base.slots import Lacking, Refused
    from maple_agents.cli.new import handover

    last, hints = handover.load(asked.cluster.site.id), _hints(asked, foreign)
    put: dict[str, Missing] = {}
    before = asked
    for _ in range(ROUNDS):
        try:
            script = _made(asked, foreign, last, hints)
        except Refused as error:
            kept, gone = without_old(asked.text, asked.slots)
            if gone:  # the size and place of an earlier job cannot be had here: they go, and are told of
                ranks = asked.ranks if ("ranks_per_node" in kept) == ("ranks_per_node" in asked.slots) else None
                asked = asked._replace(slots=kept, unread=(*asked.unread, *gone), ranks=ranks)
                continue
            if not put:
                raise
            from ...diagnose.read.clean_lines import safe

            click.echo(f"maple: {safe(str(error))}", err=True)
            answers = asked.slots
            open_, asked = [question._replace(default=answers.text(question.slot)) for question in put.values()], before
        else:
            answered = _picked(asked, script.missing) if isinstance(script, Lacking) else asked
            if answered is not asked:
                asked = answered
                continue
            if not isinstance(script, Lacking) or not can_ask:
                return asked, script
            open_ = [missing for missing in script.missing if missing.slot not in put]
            if not open_:
                return asked, script
            before, put = asked, {**put, **{missing.slot: missing for missing in open_}}
        asked = _with(asked, page.ask(open_, partial(_refusal, asked, foreign, last, hints)))
    return asked, _made(asked, foreign, last, hints)


def _picked(asked: Wanted, missing: "Sequence[Missing]") -> Wanted:
    """Return *asked* with the answers that its own words give, *asked* itself where they give none."""
    from maple_agents.request.gate.picked import account, picked

    for question in missing:
        if question.slot in asked.slots:
            continue
        if question.slot == "account" and not question.choices:
            own = account(asked.text, asked.slots)
            used = tuple(word for word in asked.unread if own is not None and word.text in str(own.value))
        else:
            own, used = picked(question, asked.unread)
        if own is not None:
            rest = tuple(word for word in asked.unread if word not in used)
            asked = _with(asked._replace(unread=rest), [own])
    return asked


def _with(asked: Wanted, answers: "Sequence[Slot]") -> Wanted:
    from maple_agents.base.slots import Slots

    return asked._replace(slots=Slots([*asked.slots.values(), *answers]))


def _trial(asked: Wanted, foreign: "Optional[Foreign]") -> page.Trial:
    """Return what tells why answers cannot be had together, "" where they can."""
    from maple_agents.cli.new import handover

    return partial(_refusal, asked, foreign, handover.load(asked.cluster.site.id), _hints(asked, foreign))


def _refusal(
    asked: Wanted,
    foreign: "Optional[Foreign]",
    last: Mapping[str, str],
    hints: "Tuple[Assumed, ...]",
    answers: "Sequence[Slot]",
) -> str:
    """Return why what was answered so far cannot be had, "" where it can."""
    from maple_agents.base.slots import Refused

    from ...diagnose.read.clean_lines import safe

    try:
        _made(_with(asked, answers), foreign, last, hints)
    except Refused as error:
        return safe(str(error))
    return ""


def _made(
    asked: Wanted, foreign: "Optional[Foreign]", last: Mapping[str, str], hints: "Tuple[Assumed, ...]"
) -> "Union[Made, Carried, Lacking]":
    from maple_agents.write.composition import make

    if foreign is None:
        return _without_doubts(
            asked, make(asked.slots, asked.cluster, asked.wishes, last, asked.ranks, asked.gpu_kinds, hints)
        )
    from maple_agents.write.carry.carry import carry

    return carry(foreign, asked.cluster, asked.slots, asked.wishes, last, asked.ranks, asked.gpu_kinds)


def _without_doubts(asked: Wanted, result: "Union[Made, Lacking]") -> "Union[Made, Lacking]":
    """Return *result*, or what is missing: a slot of which the request says two values, or none, is never assumed."""
    from maple_agents.base.slots import Lacking

    open_ = {doubt.slot: doubt for doubt in asked.doubts if doubt.slot not in asked.slots}
    if not open_:
        return result
    missing = result.missing if isinstance(result, Lacking) else ()
    assumed = result.assumed if isinstance(result, Lacking) else result.plan.assumed
    return Lacking(
        (*open_.values(), *(missed for missed in missing if missed.slot not in open_)),
        tuple(value for value in assumed if value.slot not in open_),
        result.advice,
    )


def _hints(asked: Wanted, foreign: "Optional[Foreign]") -> "Tuple[Assumed, ...]":
    """Return the paradigm that the program is called by, or that retrieval finds, where nobody said one."""
    from maple_agents.base.slots import Assumed
    from maple_agents.request.programs import paradigm_in_arguments, paradigm_in_name

    if foreign is not None or "paradigm" in asked.slots:
        return ()
    program = asked.slots.text("program")
    named = paradigm_in_arguments(program)
    if named:
        return (Assumed("paradigm", named, "the program's arguments say so"),)
    named = paradigm_in_name(program)
    if named:
        return (Assumed("paradigm", named, "the program's name says so"),)
    if not asked.rest.strip():
        return ()
    from maple_agents.request.gate import denied

    several = asked.ranks is not None or "launcher" in asked.slots or "ranks_per_node" in asked.slots
    denial = "" if several else denied.distribution(asked.text)
    if denial:
        return (Assumed("paradigm", "single", 'the request says "%s"' % denial),)
    from maple_agents.templates.retrieval.choose import choose

    choice = choose(asked.text, asked.slots, asked.cluster)
    if choice is None:
        return ()
    because = choice.because + ("; " + choice.note if choice.note else "")
    return (Assumed("paradigm", choice.paradigm, because),)


def _foreign(path: str) -> "Foreign":
    from maple_agents.base.slots import Refused
    from maple_agents.request.script.foreign_script import read

    from ...ask.submission import source_of

    try:
        return read(source_of(path), path=b"" if path == "-" else os.fsencode(path))
    except Refused as error:
        raise Complaint("%s: %s" % ("stdin" if path == "-" else path, error)) from error
