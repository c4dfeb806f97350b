"""What `maple new` was asked: the request's slots, those of the options, and the cluster they are for.

What an answer may be: judged where it is given, so that nobody learns of it after the last question.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple, Optional

from maple_agents.base.slots import INTEGERS, NAMES, By, Missing, Name, Origin, Slot, Slots, Unread

from ...base.complaint import Complaint
from ...base.near_names import meant

if TYPE_CHECKING:
    from maple_agents.ask.sites.this_site import Here
    from maple_agents.base.slots import Assumed
    from maple_agents.request.unread import Asked, Left
    from maple_agents.templates.cluster import Cluster

ONE_WORD = (
    "account",
    "partition",
    "queue",
    "qos",
    "filesystems",
    "memory",
    "job_name",
    "output",
    "mail",
    "mail_on",
    "dependency",
)  # each is one word of a directive
_PLAIN = re.compile(r"""[^\s#;'"`$\\-][^\s#;'"`$\\]*\Z""")  # what no directive and no shell takes for an end
FORMS = {
    "account": "one word, as your site writes it: abc123",
    "filesystems": "names with colons between them: home:scratch",
}
SEPARATED = re.compile(r"[:, ]+")

MOST = 20_000  # characters of a value
_CLOCK = re.compile(r"(?:(\d+)-)?(\d{1,3}):(\d\d)(?::(\d\d))?\Z")


class Wanted(NamedTuple):
    """All that was said. *text*: the request in words, "" where there is none."""

    text: str
    slots: Slots
    cluster: "Cluster"
    wishes: frozenset[str] = frozenset()
    ranks: Optional[int] = None
    gpu_kinds: tuple[str, ...] = ()
    rest: str = ""  # of the text, what nobody understood
    known_by: str = ""  # from where it is known which site this is, as a phrase
    unread: "tuple[Unread, ...]" = ()  # of the text, what may not be passed over in silence
    doubts: tuple[Missing, ...] = ()  # slots that the text speaks of and that have no one value
    doubted: tuple[Slot, ...] = ()  # several values of such a slot
    left: "tuple[Left, ...]" = ()  # words of the text that no reading used


def option(words: str) -> Slot:
    """Return the slot of `--set SLOT=VALUE`."""
    name, equals, value = words.partition("=")
    if not equals or name not in NAMES:
        hint = meant(name, NAMES) if equals else ""
        wrong = "there is no slot of this name" if equals else "is not SLOT=VALUE"
        raise Complaint("--set %s: %s" % (words, wrong), ("%s slots are %s" % (hint, ", ".join(NAMES))).strip())
    return slot(name, value, "option", "--set %s" % words)


def slot(name: Name, value: str, by: By, where: str) -> Slot:
    """Return a slot in normal form. Raises `Complaint` for a value that it cannot have."""
    text = value.strip()
    if not text or len(text) > MOST or "\0" in text:
        raise Complaint("%s: has no value" % where, "write %s=VALUE" % name)
    return Slot(name, _normal(name, text, where), Origin(by, where))


def _normal(name: Name, text: str, where: str) -> int | str:
    if name in INTEGERS:
        if not text.isascii() or not text.isdigit() or not 0 < int(text) < 1_000_000:
            raise Complaint("%s: %s is no number" % (where, text), "write a whole number, 1 or more")
        return int(text)
    if name == "walltime":
        return _walltime(text, where)
    if name == "paradigm":
        return _of_grammar(name, text) or text
    value = joined_answer(name, text)
    complaint = why_refused(name, value)
    if complaint:
        raise Complaint("%s: %s" % (where, complaint))
    return value


def _walltime(text: str, where: str) -> str:
    match = _CLOCK.match(text)
    if match is None:
        read = _of_grammar("walltime", text)
        if read is None:
            raise Complaint("%s: %s is no time" % (where, text), "write HH:MM:SS")
        return str(read)
    days, hours, minutes, seconds = (int(part or 0) for part in match.groups())
    return "%02d:%02d:%02d" % (days * 24 + hours, minutes, seconds)


def _of_grammar(name: Name, text: str) -> Optional[str]:
    """Return what the grammar of requests reads in a value ("12 hours", "ZeRO-3"), None where it reads nothing."""
    from maple_agents.request.words import read

    slots = read("for %s" % text if name == "walltime" else "with %s" % text).slots
    return slots.text(name) or None


def wanted(text: str, sets: Sequence[str], site_id: Optional[str], model: str) -> Wanted:
    """Return what a request and options say, for the cluster that they name, else for the one we are on."""
    options = Slots(option(words) for words in sets)
    if site_id is not None:
        options = options.with_more([Slot("site", site_id, Origin("option", "--site %s" % site_id))])
        if options.text("site") != site_id:
            raise Complaint("--site %s: --set says site=%s" % (site_id, options.text("site")), "name one cluster")
    asked = _read(text, model)
    if asked.undescribed is not None and "site" not in options:
        raise Complaint(
            asked.undescribed[1], "say which holds, or --site generic-slurm for one that nothing is known of"
        )
    where = _where(options, asked)
    cluster = _cluster(where)
    resolved = _resolved(text, asked, cluster)
    own = Slots(slot for slot in resolved.slots.values() if slot.origin.by != "model")
    slots = options.with_more(own.values())
    named = _named(text, resolved, slots, cluster)
    replaced = tuple(Unread(str(slots[own.name].value)) for own in named if own.name in slots)  # of a pasted line
    slots = _undenied(text, slots.replaced(named))
    slots = slots.with_more(_of_model(resolved.slots, cluster))  # what words and site leave open
    known_by = where.why if site_id or where.how != "said" else "the request names it"
    return Wanted(
        text, slots, cluster, resolved.wishes, resolved.ranks, resolved.gpu_kinds, resolved.rest, known_by,
        (*_unread(text, resolved, slots, cluster), *replaced, *_other_cluster(asked, where)),
        resolved.doubts, resolved.doubted, resolved.left,
    )  # fmt: skip


def _of_model(slots: Slots, cluster: "Cluster") -> "list[Slot]":
    """Return what a model found: a place, an account or file systems only as this site has them."""
    from maple_agents.request.unread import may_be_account

    rows = {(row.selector, row.name) for row in cluster.site.partitions if not row.routed}
    listed, systems = {selector for selector, _ in rows}, _systems(cluster)

    def is_here(slot: Slot) -> bool:
        value = str(slot.value)
        if slot.name in listed:
            return (slot.name, value) in rows
        if slot.name == "account":
            return may_be_account(value, cluster.site)
        return slot.name != "filesystems" or not systems or {*value.split(":")} <= {*systems}

    return [slot for slot in slots.values() if slot.origin.by == "model" and is_here(slot)]


_SIZES: tuple[Name, ...] = ("nodes", "gpus_per_node", "gpus_total", "ranks_per_node", "cpus_per_node", "cpus_per_task")


def _size_unsaid(asked: Wanted) -> tuple[Missing, ...]:
    """Return the question for the size where the words say none: a script of one node would be a guess."""
    counts = _SIZES if "gpu" not in asked.slots else _SIZES[:4]  # cores beside a GPU do not say how many GPUs
    if not asked.text or asked.ranks is not None or any(name in asked.slots for name in counts):
        return ()
    return (Missing("nodes", "no size is said; say how many nodes", (), "1"),)


def _named(text: str, asked: "Asked", slots: Slots, cluster: "Cluster") -> "tuple[Slot, ...]":
    """Return what the site's own words say, wherever they stand."""
    from maple_agents.request.gate.site_words import named

    left, systems = asked.left, _systems(cluster)
    return named(text, left, slots, cluster.site, systems, asked.wishes) if left or asked.wishes else ()


def _undenied(text: str, slots: Slots) -> Slots:
    """Return *slots* without the file systems that the words deny; the last one stays."""
    own = slots.get("filesystems")
    if own is None or own.origin.by != "request":
        return slots
    from maple_agents.request.gate import denied

    had = str(own.value).split(":")
    kept = [name for name in had if name not in denied.systems(text, had)]
    return slots.replaced([own._replace(value=":".join(kept))]) if kept and kept != had else slots


def _systems(cluster: "Cluster") -> "tuple[str, ...]":
    from maple_agents.write.decide.decision import choices

    return choices("filesystems", cluster)


def _unread(text: str, asked: "Asked", slots: Slots, cluster: "Cluster") -> "tuple[Unread, ...]":
    """Return what the grammar did not understand, as it may be shown."""
    from maple_agents.request.forms import pasted
    from maple_agents.request.gate import site_words
    from maple_agents.request.language import languages
    from maple_agents.request.unread import missed, unread

    old = pasted(text)
    own = Slots(slot for slot in slots.values() if slot.name not in _PLACES or not site_words.is_old(slot, old))
    lost = unread(asked.left, own, cluster.site, _systems(cluster)) if asked.left else ()
    lost += tuple(missed(text, slots, lost, cluster.site))
    if languages.unknown(text):  # what a number counts there, nobody can say
        lost = tuple(word._replace(stops=word.stops or any(map(str.isdigit, word.text))) for word in lost)
    had = {slot.value for slot in slots.values()}
    wished = asked.wishes if not any(name in slots for name in _PLACES) else ()  # they choose the place
    lost = tuple(word for word in lost if word.slot not in _PLACES or word.value not in had)
    return _shown(text, tuple(word for word in lost if word.text.lower() not in wished))


_PLACES = ("partition", "queue", "qos")


def heard(asked: Wanted) -> Wanted:
    """Return *asked* once the second reader was heard on what the grammar passed over, and the size missed."""
    asked = _by_tagger(_by_shape(asked))
    return _accounted(asked._replace(doubts=(*asked.doubts, *_size_unsaid(asked))))


def _by_shape(asked: Wanted) -> Wanted:
    """Return *asked* with the one of several accounts that has the form of this site's; the others are told."""
    from maple_agents.request.unread import is_account

    several = [slot for slot in asked.doubted if slot.name == "account"]
    own = [slot for slot in several if is_account(str(slot.value), asked.cluster.site)]
    if len({slot.value for slot in own}) != 1:
        return asked
    others = tuple(Unread(slot.origin.where) for slot in several if slot not in own)
    return asked._replace(slots=asked.slots.with_more(own[-1:]), unread=(*asked.unread, *_shown(asked.text, others)))


def _accounted(asked: Wanted) -> Wanted:
    """Return *asked* held against its words once more: what a value lacks is told, or asked for."""
    from maple_agents.request.gate import accounted

    sizes: dict[str, int] = {name: number for name in _SIZES if (number := asked.slots.number(name)) is not None}
    sizes.update({"ranks": asked.ranks} if asked.ranks is not None else {})
    doubts = (*accounted.masked(asked.slots), *accounted.of_another(asked.slots, asked.cluster.site))
    doubts += (*accounted.total(asked.text, sizes), *accounted.of_scheduler(asked.slots, asked.cluster.site))
    doubts += tuple(accounted.no_system(asked.slots, _systems(asked.cluster)))
    doubts += tuple(accounted.other_kind(asked.slots, asked.gpu_kinds, asked.unread, asked.cluster.site))
    others = (*accounted.other_time(asked.slots, asked.unread),
              *accounted.other_size(asked.slots, asked.ranks, asked.unread))  # fmt: skip
    asked = _without(asked, (*doubts, *others))
    torn = tuple(accounted.torn(asked.text, asked.slots))
    names = tuple(accounted.nameless(asked.text, asked.slots, (*asked.unread, *torn)))
    open_ = {doubt.slot for doubt in asked.doubts}
    keyed = (word for word in accounted.keyed(asked.text, asked.slots, asked.unread) if word.slot not in open_)
    return asked._replace(unread=_shown(asked.text, (*asked.unread, *torn, *names, *keyed)))


def held_against(asked: Wanted, script: bytes, assumed: "Sequence[Assumed]", advice: Sequence[str]) -> Wanted:
    """Return *asked* with each name of its words told, or asked for, that neither the script nor what is said has."""
    from maple_agents.request.gate.untouched import untouched
    from maple_agents.request.gate.unwritten import uncounted, unwritten

    values = [*(str(slot.value) for slot in asked.slots.values()), *(str(each.value) for each in assumed)]
    left = " ".join(word.text for word in asked.unread)
    held = (script.decode("utf-8", "replace"), *values, *advice, left)
    sizes: dict[str, int] = {each.slot: each.value for each in assumed if isinstance(each.value, int)}
    sizes.update({slot.name: slot.value for slot in asked.slots.values() if isinstance(slot.value, int)})
    lost = (
        *unwritten(asked.text, held, tuple(asked.slots)),
        *uncounted(asked.text, held, sizes, [each.slot for each in assumed]),
        *_elsewhere(asked, assumed),
    )
    code = re.sub(r"(?m)^# .*", "", held[0])  # what a comment says is nothing that somebody asked for
    told_of = [word.text for word in (*asked.unread, *lost)]
    lost += tuple(untouched(asked.text, asked.left, asked.slots, (code, *values), told_of))
    return asked._replace(unread=(*asked.unread, *_shown(asked.text, tuple(dict.fromkeys(lost))))) if lost else asked


def _elsewhere(asked: Wanted, assumed: "Sequence[Assumed]") -> "tuple[Unread, ...]":
    """Return the wish for a kind of place where another was taken for it: "debug" as debug-scaling, or said as well."""
    places = [str(asked.slots[name].value).lower() for name in _PLACES if name in asked.slots]
    taken = {str(each.value).lower() for each in assumed if each.slot in _PLACES}
    names = {row.name.lower() for row in asked.cluster.site.partitions if not row.routed}
    lost = [wish for wish in asked.wishes & names if taken and wish not in taken]
    lost += [wish for wish in asked.wishes & _KINDS if places and not any(wish in place for place in places)]
    return tuple(map(Unread, sorted({*lost})))


_KINDS = frozenset(("debug", "interactive", "preempt"))  # of places, as people wish for them


def _by_tagger(asked: Wanted) -> Wanted:
    from maple_agents.request.tagger import reading, witness
    from maple_agents.request.unread import may_be_account

    try:
        tagger = reading.read(asked.text)
    except (OSError, ValueError):
        return asked  # its weights are not there, or not whole
    asked = _without(asked, tuple(witness.doubtful(tagger, asked.slots)))
    decided = witness.decided(asked.text, tagger, asked.doubted, asked.slots)
    asked = asked._replace(slots=asked.slots.with_more(decided.slots), unread=(*asked.unread, *decided.unread))
    open_ = {missing.slot for missing in asked.doubts} - set(asked.slots)
    answer = witness.heard(asked.text, tagger, asked.unread, asked.slots, asked.cluster.site, open_)
    site = asked.cluster.site
    slots = [slot for slot in answer.slots if slot.name != "account" or may_be_account(str(slot.value), site)]
    return asked._replace(slots=asked.slots.with_more(slots), unread=_shown(asked.text, answer.unread))


def _without(asked: Wanted, doubts: tuple[Missing, ...]) -> Wanted:
    """Return *asked* with more slots in doubt, and no value for them."""
    names = {missing.slot for missing in doubts}
    kept = Slots(slot for slot in asked.slots.values() if slot.name not in names)
    return asked._replace(slots=kept, doubts=(*asked.doubts, *doubts)) if doubts else asked


def _shown(text: str, lost: "tuple[Unread, ...]") -> "tuple[Unread, ...]":
    """Return *lost* as it may be shown: a secret is known by the words around it."""
    from ...base.secrets.masking import MASK, masked

    shown = masked(text).split()
    return tuple(
        unread
        if all(any(word in other for other in shown) for word in unread.text.split())
        else unread._replace(text=MASK, value="")
        for unread in lost
    )


def _read(text: str, model: str) -> "Asked":
    """Return what the words say, by the grammar, and with a model what it found besides."""
    from maple_agents.request import words as request
    from maple_agents.request.unread import Asked

    if not text:
        return Asked(Slots())
    refusal = request.refusal(text)
    if refusal is not None:
        raise Complaint(refusal)
    asked = request.read(text)
    if asked.contradictions:
        raise Complaint("; ".join(asked.contradictions), "say which holds")
    return asked._replace(slots=_with_model(text, asked.slots, model))


def _with_model(text: str, slots: Slots, named: str) -> Slots:
    """Return the slots with those that the model found; one that cannot answer is told of in one line."""
    import click

    from maple_agents.ask.models.choice import choose
    from maple_agents.ask.models.protocol import ModelError

    def tell(says: str) -> None:
        from ...diagnose.read.clean_lines import safe

        click.echo(safe("maple: %s" % says), err=True)

    try:
        choice = choose(named)
    except ModelError as error:
        if named:
            raise Complaint("--model: %s" % error) from error
        tell("%s; going on without a model" % error)  # a setting of the site's that nobody asked for
        return slots
    if choice is None:
        return slots
    from maple_agents.request.by_model import read

    return read(text, choice.model, slots, limit=choice.limit, tell=tell)


def _where(options: Slots, asked: "Asked") -> "Here":
    """Return the site named by option or request, else the one we are on. Raises `Complaint` where they name two."""
    from ...ask.submission import here_of

    by_option, by_words = options.text("site"), asked.slots.text("site")
    if by_option and by_words and by_option != by_words and not by_option.startswith("generic-"):
        raise Complaint("the request is for %s, and --site says %s" % (by_words, by_option), "name one cluster")
    return here_of(by_option or by_words or None)


def _other_cluster(asked: "Asked", where: "Here") -> "tuple[Unread, ...]":
    """Return the cluster that the words name where the option says to write for another, or an undescribed one."""
    own = asked.slots.get("site")
    named = [own.origin.where] if own is not None and own.value != where.id else []
    return tuple(map(Unread, named + [asked.undescribed[0]] if asked.undescribed is not None else named))


def cluster_of(site_id: Optional[str], source: bytes = b"") -> "Cluster":
    """Return the cluster of that id, or the one we are on, or one that nothing is known about."""
    from ...ask.submission import here_of

    return _cluster(here_of(site_id, source))


def _cluster(where: "Here") -> "Cluster":
    from maple_agents.write.clusters import cluster

    from ...ask.submission import loaded

    site = loaded(where)
    try:
        return cluster(site.id)
    except ValueError as error:
        raise Complaint(str(error).partition("\n")[0], "see them all with: maple templates lint") from error


def without_old(text: str, slots: Slots) -> "tuple[Slots, tuple[Unread, ...]]":
    """Return the slots without what pasted lines of an earlier job say of places and devices, which is told then.

    Who insists ("keep the queue", "exactly 3 GPUs") wants it, or hears why it cannot be had.
    """
    from maple_agents.base.slots import Unread
    from maple_agents.request.forms import pasted
    from maple_agents.request.gate.site_words import is_old

    lines = pasted(text)
    own = [slot for slot in slots.values() if slot.origin.by == "request" and not is_old(slot, lines)]
    if not own:
        return slots, ()  # what was pasted is all that is asked for
    names = (*_OF_A_SITE, "nodes") if any(slot.name == "gpus_total" for slot in own) else _OF_A_SITE
    old = [slot for slot in slots.values() if slot.name in names and is_old(slot, lines)]
    if _INSISTS.search(text):
        return slots, ()
    kept = Slots(slot for slot in slots.values() if slot not in old)
    return kept, tuple(Unread(slot.origin.where) for slot in old)


_INSISTS = re.compile(r"(?i)\b(?:keep|insist|unchanged|must (?:stay|remain)|same (?:queue|partition|qos))\b")
_OF_A_SITE = ("partition", "queue", "qos", "gpu", "gpus_per_node", "ranks_per_node", "launcher")


def _resolved(text: str, asked: "Asked", cluster: "Cluster") -> "Asked":
    from maple_agents.request.words import resolve

    if not asked.slots:
        return asked
    resolved = resolve(asked, cluster)
    if resolved.contradictions:
        resolved = resolve(asked._replace(slots=without_old(text, asked.slots)[0]), cluster)
    if resolved.contradictions:
        raise Complaint("; ".join(resolved.contradictions))
    return resolved


def why_refused(name: Name, value: str, choices: Sequence[str] = ()) -> str:
    """Return what is wrong with a value, and what is accepted; "" where nothing is.

    *choices*: the file systems that the site lists, () where it lists none, or where the user insists (--set). Which
    partition can be had is told by trying.
    """
    if name not in ONE_WORD:
        return ""
    if not _PLAIN.match(value):
        return "%s cannot stand in a directive; write %s" % (value, FORMS.get(name, "one name, without blanks"))
    return _no_such_file_system(value, choices) if name == "filesystems" and choices else ""


def joined_answer(name: Name, value: str) -> str:
    """Return file systems as the directive has them, whichever way they were separated."""
    return ":".join(filter(None, SEPARATED.split(value))) if name == "filesystems" else value


def _no_such_file_system(value: str, choices: Sequence[str]) -> str:
    unknown = [part for part in value.split(":") if part not in choices]
    if not unknown:
        return ""
    return "%s is no file system here; write %s, or several: %s" % (
        unknown[0], " or ".join(choices), ":".join(choices[:2]),
    )  # fmt: skip
