"""What people write themselves: terse lists, keys and values, sentences, mails, chats, and mixtures of them."""

from __future__ import annotations

from tests.tagger.marked import Marked, Part, joined, only_aside
from tests.tagger.pasted import command
from tests.tagger.teller import Teller


def terse(teller: Teller) -> Marked:
    """Return pieces with one sign between them."""
    chance = teller.chance
    joint = chance.choice(
        [
            ", ",
            ", ",
            ", ",
            " ",
            " ",
            "; ",
            " | ",
            " / ",
            "\n",
            ",",
            " + ",
            " - ",
            ". ",
            " , ",
            " . ",
            " // ",
            "  ",
            "..",
            " & ",
            " ; ",
            " -- ",
        ]
    )
    parts: list[Marked] = [teller.fragment("terse", slot) for slot in teller.slots]
    if chance.random() < 0.15:
        parts.insert(chance.randrange(len(parts) + 1), teller.said(chance.choice(["chat", "aside", "aside"])))
    found: list[Marked | str] = []
    for part in parts:
        found += [part, joint if chance.random() < 0.8 else teller.joint()]
    return joined(
        [teller.sometimes(0.06, "start", ": "), *found[:-1], chance.choice(["", "", "", ".", " pls", "!", " thx"])]
    )


def keys(teller: Teller) -> Marked:
    """Return a list of keys and values."""
    chance = teller.chance
    lead = chance.choice(["", "", "", "- ", "* ", "• ", "+ ", "  ", "> ", "1) ", "** "])
    joint = chance.choice(["\n", "\n", "\n", "; ", ", ", " | ", ",\n"])
    parts = [joined([lead, teller.key(slot)]) for slot in teller.keyed()]
    if chance.random() < 0.12:
        parts.insert(chance.randrange(len(parts) + 1), joined([lead, teller.said(chance.choice(["chat", "aside"]))]))
    found: list[Marked | str] = []
    for part in parts:
        found += [part, joint]
    return joined(
        [
            teller.sometimes(0.3, "start", chance.choice(["\n", ":\n", "\n\n"])),
            *found[:-1],
            *(["\n", teller.said("end")] if chance.random() < 0.2 else []),
        ]
    )


def _capital(said: Marked) -> Marked:
    first = said[0]
    return (
        said
        if first.label or not first.text
        else (first._replace(text=first.text[:1].upper() + first.text[1:]), *said[1:])
    )


def sentences(teller: Teller) -> Marked:
    """Return whole sentences, more or less."""
    chance = teller.chance
    found: list[Marked | str] = [teller.sometimes(0.3, "start", chance.choice([", ", ". ", "! ", " - ", "\n"]))]
    open_ = False
    for slot in teller.slots:
        if not open_ and chance.random() < 0.16:
            found.append(
                joined(
                    [
                        teller.said(chance.choice(["chat", "chat", "aside"])),
                        chance.choice([". ", ", ", ". ", "; ", " - ", ", but ", ", so "]),
                    ]
                )
            )
        kind = "clause" if chance.random() < 0.88 else "terse"
        said = teller.fragment(kind, slot)
        if not open_ and chance.random() < 0.6:
            said = _capital(said)
        found.append(said)
        open_ = chance.random() < 0.6
        found.append(
            teller.joint()
            if open_
            else chance.choice([". ", ". ", ". ", "; ", ".\n", "! ", ", ", "。" if teller.language == "zh" else ". "])
        )
    if isinstance(found[-1], str):
        found[-1] = chance.choice([".", "", "!", "?", "."])
    if chance.random() < 0.2:
        found += [" ", teller.said(chance.choice(["aside", "chat", "chat"])), chance.choice([".", ""])]
    if chance.random() < 0.25:
        found += [chance.choice([" ", "\n", "\n\n"]), teller.said("end")]
    return joined(found)


def mixture(teller: Teller) -> Marked:
    """Return one way of asking, and the rest in another."""
    chance, slots = teller.chance, teller.slots
    cut = chance.randrange(1, max(2, len(slots)))
    teller.slots = slots[:cut]
    first = chance.choice([sentences, terse, command])(teller)
    teller.slots = slots[cut:]
    if not teller.slots:
        return first
    second = chance.choice([keys, terse, sentences])(teller)
    return joined([first, chance.choice(["\n", " ", ". ", " -- ", "\n\n", ": ", ", ", " ("]), second])


def mail(teller: Teller) -> Marked:
    """Return a mail, with its head, talk, and what it answers."""
    chance = teller.chance
    head: list[Marked | str] = []
    if chance.random() < 0.4:
        lines = [
            "From: %s\n" % teller.values.of("mail"),
            "To: %s\n" % chance.choice(["help@hpc.edu", "support@%s.edu" % "cluster", teller.values.of("mail")]),
            "Date: Tue, 12 Mar 2025 14:%02d\n" % chance.randrange(60),
            "Subject: %s\n" % chance.choice(["job", "Re: job script", "GPU training", "request"]),
        ]
        head += [line for line in lines if chance.random() < 0.7]
        head += ["\n"]
    body = chance.choice([sentences, sentences, keys, mixture])(teller)
    talk = [joined([teller.said("chat"), chance.choice([". ", ".\n"])]) for _ in range(chance.choice([0, 1, 1, 2]))]
    past = [joined([teller.said("aside"), ". "])] if chance.random() < 0.4 else []
    rest = [*talk, *past]
    chance.shuffle(rest)
    cut = chance.randrange(len(rest) + 1)
    quote: list[Marked | str] = []
    if chance.random() < 0.12:
        quote = ["\n\n> ", teller.said("aside"), "\n> ", teller.said("aside")]
    return joined(
        [
            *head,
            teller.said("start"),
            chance.choice([",\n\n", ",\n", "\n"]),
            *rest[:cut],
            body,
            "\n",
            *rest[cut:],
            "\n",
            teller.said("end"),
            *quote,
        ]
    )


def reply(teller: Teller) -> Marked:
    """Return a request in the pieces of a chat: short lines, one thing each."""
    chance = teller.chance
    found: list[Marked | str] = [teller.sometimes(0.5, "start", "\n")]
    for slot in teller.slots:
        found += [
            teller.fragment(chance.choice(["terse", "clause"]), slot),
            chance.choice(["\n", "\n", " ... ", " / ", ".. ", " \n"]),
        ]
        if chance.random() < 0.12:
            found += [teller.said(chance.choice(["chat", "aside"])), "\n"]
    return joined(found)


_ASKS = {
    "nodes": ("how many nodes?", "nodes?", "and how many nodes", "size?"),
    "gpus": ("how many gpus", "gpus?", "# of gpus?"),
    "walltime": ("how long?", "for how long", "time?", "walltime?", "and the time limit"),
    "account": ("which account", "acct?", "who pays", "project?"),
    "place": ("which partition?", "queue?", "where to"),
    "program": ("what do you run", "script?", "cmd?"),
    "memory": ("how much ram?", "mem?"),
}


def dialogue(teller: Teller) -> Marked:
    """Return a talk of two: one asks, the other answers by the bare value, and may take it back."""
    chance = teller.chance
    names = chance.sample(["jo", "kim", "lea", "Omar", "PI", "me", "ana", "@rui", "sam"], 2)
    minute = chance.randrange(50)
    stamp = chance.choice(["[%02d:%02d] ", "%02d:%02d ", "(%02d:%02d) ", ""])
    hour = chance.randrange(7, 22)
    found: list[Marked | str] = []

    def turn(name: str, *says: Marked | str) -> None:
        nonlocal minute
        minute += chance.choice([0, 0, 1, 2])
        found.extend([stamp % (hour, minute) if stamp else "", name, ": ", *says, "\n"])

    for slot in teller.slots:
        answer = (Part(teller.values.of(slot), slot),) if slot in _ASKS else teller.fragment("terse", slot)
        if slot in _ASKS and chance.random() < 0.55:
            turn(names[0], chance.choice(_ASKS[slot]))
            guess = chance.random() < 0.15
            if guess:  # the other guesses first
                turn(names[0], only_aside((Part(teller.values.of(slot), slot),)), "?")
            turn(names[1], "no " if guess else chance.choice(["", "", "ok ", "fine, ", "let's say "]), answer)
        else:
            turn(chance.choice(names), teller.fragment(chance.choice(["terse", "clause"]), slot))
        if chance.random() < 0.12:
            turn(chance.choice(names), teller.said(chance.choice(["chat", "aside"])))
    return joined([*found, chance.choice(["", "^^ job for that pls", "make a script of this", "can you set that up?"])])
