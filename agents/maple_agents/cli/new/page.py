"""What `maple new` shows people: what was assumed, what is missing, what to know; and what it asks them."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING

import click
from maple_submit_filter.answer.report import printable

from ...ask.submission import on_site
from ...base.complaint import Complaint
from ...base.near_names import meant
from ...base.slots import NAMES, Missing, Origin
from ...base.terminal import coloured, on_screen, width
from . import request
from .request import slot

if TYPE_CHECKING:
    from ...base.slots import Assumed, Lacking, Slot, Unread
    from .request import Wanted


def tell(asked: "Wanted", assumed: Sequence["Assumed"], advice: Sequence[str], carried: bool) -> None:
    """Print for which site it is, what nobody said and what to know, on stderr. *carried*: made from a script."""
    head = "decided anew for %s:" % asked.cluster.site.id if carried else UNSAID
    for line in (on_site(asked.cluster.site.id, asked.known_by), *lines(assumed, advice, head), *unused(asked)):
        click.echo(line, err=True, color=coloured())


READ = "as I read it; SLOT=VALUE as an answer corrects it:"


def read_back(asked: "Wanted") -> Iterator[str]:
    """Yield each value that was read beside the user's own words."""
    own = [slot for slot in asked.slots.values() if slot.origin.end or slot.origin.by == "model"]
    names = [CALLED.get(slot.name, slot.name) for slot in own]
    left, middle = max(map(len, names), default=0), max((len(str(slot.value)) for slot in own), default=0)
    if own:
        yield click.style(READ, bold=True)
    for name, read in zip(names, own):
        value = click.style(printable(str(read.value)).ljust(min(middle, 40)), fg="cyan")
        yield '  %s  %s  "%s"' % (name.ljust(left), value, printable(read.origin.where))


UNSAID = "not in your request, so these defaults were used:"


def lines(assumed: Sequence["Assumed"], advice: Sequence[str], head: str = UNSAID) -> Iterator[str]:
    """Yield *head* and a row for each slot that was assumed, then the advice, folded at the terminal's width."""
    if assumed:
        yield click.style(head, bold=True)
    names = [CALLED.get(value.slot, value.slot) for value in assumed]
    left, middle = max(map(len, names), default=0), max((len(str(value.value)) for value in assumed), default=0)
    for name, shown in zip(names, assumed):
        value = click.style(printable(str(shown.value)).ljust(middle), fg="cyan")
        first, *more = _wrapped(printable(shown.because), _width() - left - middle - 6)
        yield "  %s  %s  %s" % (name.ljust(left), value, first)
        yield from (" " * (left + middle + 6) + line for line in more)
    for note in advice:
        yield from _folded(click.style("note:", fg="yellow"), printable(note))


def unused(asked: "Wanted") -> Iterator[str]:
    """Yield what of the request went into no line of the script."""
    words = ['"%s"' % printable(unread.text) for unread in asked.unread if not unread.stops]
    if words:
        more = " and %d more" % (len(words) - SHOWN) if len(words) > SHOWN else ""
        yield from _folded(click.style("note:", fg="yellow"), "not used: %s%s" % (", ".join(words[:SHOWN]), more))


def missing(lacking: "Lacking") -> Iterator[str]:
    """Yield a line for each slot that is missing, and where nobody can be asked how to say it."""
    for lack in lacking.missing:
        choices = " (%s)" % ", ".join(lack.choices) if lack.choices else ""
        yield printable("%s: missing; %s%s" % (CALLED.get(lack.slot, lack.slot), lack.says, choices))
    sets = " ".join("--set %s=…" % lack.slot for lack in lacking.missing)
    yield "add it to the request, or use %s" % sets


def _folded(mark: str, text: str) -> Iterator[str]:
    for at, line in enumerate(_wrapped(text, _width() - 6)):
        yield "%s %s" % (mark, line) if at == 0 else "      " + line


def _wrapped(text: str, width: int) -> list[str]:
    import textwrap

    return textwrap.wrap(text, max(30, width), break_long_words=False, break_on_hyphens=False) or [""]


def _width() -> int:
    """Return the columns of the terminal; where there is none, nothing is folded."""
    return width(sys.stderr) if sys.stderr.isatty() else 10_000


# What nobody understood, and somebody meant: no script is written before it is settled.

SHOWN = 8  # words that were not used


def unread(asked: "Wanted") -> Iterator[str]:
    """Yield a line for each word that stops the script, where nobody can be asked."""
    for word in asked.unread:
        if word.stops:
            yield printable("not understood: %s" % _meaning(word, asked))
    yield "nothing was written; say it otherwise, or leave it out of the request"


def _meaning(unread: "Unread", asked: "Wanted") -> str:
    if not unread.slot:
        return '"%s"' % unread.text
    named = CALLED.get(unread.slot, unread.slot)
    what = "is a %s of %s" % (named, asked.cluster.site.id) if unread.slot in PLACES else "may mean %s" % named
    return '"%s" %s: --set %s=%s' % (unread.text, what, unread.slot, unread.value or "N")


def settled(asked: "Wanted", trial: "Trial") -> "Wanted":
    """Ask on the terminal about each word that stops the script; `SLOT=VALUE` says what it means.

    An answer that *trial* refuses beside those before it is asked for again. "No" to going on ends the command: exit
    code 3.
    """
    given: list[Slot] = []
    left: list[Unread] = []
    for unread in asked.unread:
        own = _settled(unread, asked, _behind(tuple(given), trial)) if unread.stops else None
        given += [own] if own is not None else []
        meant_so = own is not None and (own.name == unread.slot or unread.text.lower() in str(own.value).lower())
        left += [] if meant_so else [unread._replace(stops=False)]
    return asked._replace(slots=asked.slots.replaced(given), unread=tuple(left))


def _settled(unread: "Unread", asked: "Wanted", trial: "Trial") -> "Slot | None":
    """Return what a word is said to mean, None where the script goes on without it."""
    named = bool(unread.slot and unread.value)
    question = "%s: use it?" % _question(unread, asked) if named else _NOT_UNDERSTOOD % unread.text
    for _ in range(TRIES):
        answer = _line(printable("%s [%s] " % (question, "Y/n" if named else "y/N"))).strip()
        agreed = answer.lower() in ("y", "yes") or named and not answer
        try:
            if "=" in answer or named and agreed:
                own = _meant(answer if "=" in answer else "%s=%s" % (unread.slot, unread.value), unread.text)
                return _judged(Missing(own.name, "", _choices(own.name, asked)), own, own.name, lambda it: trial([it]))
        except Complaint as error:
            _say(error.format_message())
            continue
        if agreed or named and answer.lower() in ("n", "no"):
            return None
        if answer.lower() in ("", "n", "no"):
            _say("nothing was written")
            raise click.exceptions.Exit(3)
        _say('"%s" is no answer: y, n, or SLOT=VALUE' % printable(answer))
    raise Complaint("%s: no usable answer" % unread.text)


_NOT_UNDERSTOOD = '"%s" was not understood: go on without it?'


def _meant(answer: str, where: str) -> "Slot":
    """Return the slot of `nodes=4`. Raises `Complaint` for another name, with the near one."""
    name, _, value = answer.partition("=")
    if name.strip() not in NAMES:
        hint = meant(name.strip(), NAMES)
        raise Complaint("%s: there is no slot of this name" % name.strip(), hint or "slots are %s" % ", ".join(NAMES))
    return slot(name.strip(), value, "prompt", answer)._replace(origin=Origin("prompt", where))  # type: ignore[arg-type]


def _choices(name: str, asked: "Wanted") -> "tuple[str, ...]":
    """Return what the site's list has for a slot, () where it lists nothing."""
    from maple_agents.write.decide.decision import choices

    return choices("filesystems", asked.cluster) if name == "filesystems" else ()


def _question(unread: "Unread", asked: "Wanted") -> str:
    named = CALLED.get(unread.slot, unread.slot)
    if unread.slot in PLACES:
        return '"%s" is a %s of %s' % (unread.text, named, asked.cluster.site.id)
    return '"%s": %s = %s' % (unread.text, named, unread.value)


# Questions on a terminal: each slot that is missing, once, with the site's own words.

TRIES = 5  # of one question, corrections of others among them
PLACES = ("partition", "queue", "qos")
CALLED = {
    "filesystems": "file systems", "gpu": "kind of node", "gpus_per_node": "GPUs per node", "gpus_total": "GPUs in all",
    "qos": "QOS", "ranks_per_node": "ranks per node",
}  # fmt: skip


Trial = Callable[[Sequence["Slot"]], str]  # why answers cannot be had together, "" where they can


def ask(missing: Sequence["Missing"], trial: Trial) -> list["Slot"]:
    """Return the answers, each judged by *trial* with those before it. An empty one ends the command: exit code 3."""
    given: list[Slot] = []
    for question in missing:
        given += _ask(question, _behind(tuple(given), trial))
    return given


def _behind(given: "tuple[Slot, ...]", trial: Trial) -> Trial:
    return lambda slots: trial([*given, *slots])


def _ask(missing: "Missing", trial: Trial) -> "list[Slot]":
    """Ask on stderr, for the script goes to stdout; again where the answer is not accepted, or corrects another slot.

    The last is the answer, those before it are the corrections.
    """
    corrections: list[Slot] = []
    name = CALLED.get(missing.slot, missing.slot)
    _say(click.style(name, bold=True) + printable(": " + missing.says))
    if missing.choices:
        _say("  " + printable(", ".join(missing.choices)))
    for _ in range(TRIES):
        shown = " [%s]" % printable(missing.default) if missing.default else ""
        answer = _line("%s%s: " % (name, shown)).strip() or missing.default
        if not answer:
            _say("nothing was written")
            raise click.exceptions.Exit(3)
        try:
            if (other := _correction(answer, missing.slot)) is not None:
                corrections.append(other)
                _say("  %s = %s" % (other.name, printable(str(other.value))))
                continue
            own = slot(missing.slot, answer, "prompt", name)
            return [*corrections, _judged(missing, own, name, lambda own: trial([*corrections, own]))]
        except Complaint as error:
            _say(error.format_message())
    raise Complaint("%s: no usable answer" % name)


def _correction(answer: str, asked: str) -> "Slot | None":
    """Return the slot that an answer of the form `nodes=4` sets, None where it answers what was *asked*."""
    name, equals, value = answer.partition("=")
    if not equals or name.strip() not in NAMES or name.strip() in (asked, "site"):
        return None
    return slot(name.strip(), value, "prompt", answer)  # type: ignore[arg-type]


def _judged(missing: "Missing", given: "Slot", name: str, trial: "Callable[[Slot], str]") -> "Slot":
    """Return the answer. Raises `Complaint` with what would be accepted."""
    complaint = request.why_refused(missing.slot, str(given.value), missing.choices) or trial(given)
    if complaint:
        raise Complaint("%s: %s" % (name, complaint))
    return given


def _line(question: str) -> str:
    """Return what is typed behind *question*; the end of input is an empty answer."""
    click.echo(question, nl=False, err=True)
    sys.stderr.flush()
    return sys.stdin.readline()


def _say(text: str) -> None:
    click.echo("\n".join(on_screen(text)), err=True, color=coloured())
