"""What small commands print inside `$( ... )`: host lists, filters over lines, arithmetic by `expr` and `seq`.

A command is a function from its words and its input to its output; None means the output cannot be known.
"""

from __future__ import annotations

import re
from typing import Callable, Dict, List, Optional, Sequence, Tuple

from ..types.text import EMPTY, NUL, Piece, Text, host, join, node_name, number, plain, token
from .availability import in_image
from .expansion import NODE_LIST, derive, split
from .scene import Machine
from .shell_state import Shell, joined

NEWLINE = plain(b"\n")
MOST_LINES = 16_384  # of a node file that is written out; of a longer one only the first node is taken to be known
SOME = b"\0some:"  # nodes that may be one and the same
_PROGRAM = re.compile(rb"[A-Za-z_][\w.+-]*")
_TOKEN = re.compile(rb"\0(host|addr|name):(\d+)\0")
_OF_NODE = re.compile(rb"\0(host|addr|name):(\d+)\0(?:[.-][A-Za-z0-9.-]*)?")  # with the suffix of a faster network


def lines(text: Text) -> List[Text]:
    """Return the lines of a text without their newlines."""
    raw = text.raw
    out = []
    at = 0
    while at < len(raw):
        end = raw.find(b"\n", at)
        end = len(raw) if end < 0 else end
        out.append(text.slice(at, end))
        at = end + 1
    return out


def unlines(many: Sequence[Text]) -> Text:
    """Return lines as one text, in as few pieces as their origins allow: thousands of lines are cut again quickly."""
    pieces: List[Piece] = []
    run: List[bytes] = []
    for piece in (piece for line in many for piece in (*line.pieces, *NEWLINE.pieces)):
        if piece.start < 0 and piece.cover is None:
            run.append(piece.text)
            continue
        pieces += [Piece(b"".join(run)), piece] if run else [piece]
        run = []
    return Text((*pieces, Piece(b"".join(run))) if run else tuple(pieces), any(line.open for line in many))


def host_lines(machine: Machine) -> Text:
    """Return one host name a line, in the order of the node list."""
    if machine.nodes is None or machine.nodes > MOST_LINES:
        return join([plain(host(0)), NEWLINE, Text(derive(b"more hosts", ()).pieces, True)])
    return plain(b"".join(host(index) + b"\n" for index in range(machine.nodes)))


def named_lines(many: Optional[Sequence[int]], total: Optional[int]) -> Text:
    """Return a node file with so many lines for each node, in their order.

    Where the order is not known the first line is the first node's, and each of the *total* others some node's.
    """
    if many is None and total and total <= MOST_LINES:
        return plain(node_name(0) + b"\n" + b"".join(token(b"some", b"%d" % line) + b"\n" for line in range(1, total)))
    if many is None or sum(many) > MOST_LINES:
        return join([plain(node_name(0)), NEWLINE, Text(derive(b"more names", ()).pieces, True)])
    return plain(b"".join((node_name(index) + b"\n") * count for index, count in enumerate(many)))


def node_of(text: Text) -> Optional[int]:
    """Return the node that a host name or address stands for, a suffix of its domain or network aside, or None."""
    match = _OF_NODE.fullmatch(text.raw)
    return int(match.group(2)) if match else None


def is_many(text: Optional[Text]) -> bool:
    """Return whether a word that should name one node is the list of all, or more than a name: it has blanks in it."""
    if text is None or text.raw == NODE_LIST:
        return text is not None
    return text.known and len(text.raw.split(b"\0")) > 1 and (len(text.raw.split()) > 1 or text.raw.strip() != text.raw)


def is_cut(text: Optional[Text]) -> bool:
    """Return whether a word is a piece of the compressed node list, which is seldom a node's name: `gpu[013-016]`."""
    return text is not None and text.raw.startswith(b"\0same:cutlist")


def run(argv: Sequence[Text], given: Optional[Text], shell: Shell, machine: Machine) -> Optional[Text]:
    """Return what the command prints, or None when that cannot be known."""
    if not argv or argv[0].open or not argv[0].literal:
        return None
    name = argv[0].raw.rsplit(b"/", 1)[-1]
    command = _COMMANDS.get(name)
    if command is None or (shell.image and not in_image(name)):
        return None
    return command(list(argv[1:]), given, shell, machine)


# --- who and where ----------------------------------------------------------------------------------------------


def _hostname(argv: List[Text], given: Optional[Text], shell: Shell, machine: Machine) -> Optional[Text]:
    node = shell.place.node
    flags = b"".join(text.raw.lstrip(b"-") for text in argv)
    if any(not text.raw.startswith(b"-") for text in argv):
        return None
    if node is None:
        return shell.mix(b"hostname")
    address = b"i" in flags.lower() and b"short" not in flags and b"domain" not in flags
    every = b"I" in flags or b"all-ip" in flags  # a blank stands behind each address, the last one too
    return plain(token(b"addr", b"%d" % node) + b" " * every if address else host(node))


def _uname(argv: List[Text], given: Optional[Text], shell: Shell, machine: Machine) -> Optional[Text]:
    return _hostname([], given, shell, machine) if [text.raw for text in argv] == [b"-n"] else None


def _scontrol(argv: List[Text], given: Optional[Text], shell: Shell, machine: Machine) -> Optional[Text]:
    raw = [text.raw for text in argv]
    if len(raw) < 2 or not b"show".startswith(raw[0]) or not raw[1].startswith(b"hostn"):
        return None
    if not b"hostnames".startswith(raw[1]):
        return None
    if not shell.get(b"SLURM_JOB_NODELIST").texts() and raw[2:] in ([], [b""]):
        return EMPTY  # no job of Slurm, and no list: it prints an error
    if len(raw) == 2:
        return host_lines(machine)
    if b"$" in raw[2] and argv[2].literal:
        return argv[2]  # no host's name: a word that nobody has expanded is printed as it is
    return host_lines(machine) if b"\0nodelist\0" in raw[2] else (argv[2] if node_of(argv[2]) is not None else None)


def _nodeset(argv: List[Text], given: Optional[Text], shell: Shell, machine: Machine) -> Optional[Text]:
    raw = [text.raw for text in argv]
    if len(raw) == 2 and raw[0] in (b"-e", b"--expand") and raw[1] == b"\0nodelist\0":
        return joined(tuple(lines(host_lines(machine))))
    return None


def _getent(argv: List[Text], given: Optional[Text], shell: Shell, machine: Machine) -> Optional[Text]:
    node = node_of(argv[-1]) if argv else None
    if node is None:
        return None
    return join([plain(token(b"addr", b"%d" % node)), plain(b" "), plain(host(node)), NEWLINE])


def _shuf(argv: List[Text], given: Optional[Text], shell: Shell, machine: Machine) -> Optional[Text]:
    return shell.draw(b"shuf")


def _uuid(argv: List[Text], given: Optional[Text], shell: Shell, machine: Machine) -> Optional[Text]:
    return shell.draw(b"uuid")


# --- plain text -------------------------------------------------------------------------------------------------


def _echo(argv: List[Text], given: Optional[Text], shell: Shell, machine: Machine) -> Optional[Text]:
    escapes = False
    while argv and argv[0].raw in (b"-n", b"-e", b"-E", b"-en", b"-ne"):
        escapes = escapes or b"e" in argv[0].raw
        argv = argv[1:]
    if escapes and any(b"\\" in text.raw for text in argv):
        return None
    return join([joined(tuple(argv)), NEWLINE])


def _printf(argv: List[Text], given: Optional[Text], shell: Shell, machine: Machine) -> Optional[Text]:
    if not argv or not argv[0].literal:
        return None
    form = argv[0].raw.replace(b"\\n", b"\n").replace(b"\\t", b"\t")
    pieces = re.split(rb"%[sd]", form)
    rest = argv[1:]
    if b"%" in form.replace(b"%s", b"").replace(b"%d", b""):
        return None
    slots = len(pieces) - 1
    if not slots:
        return plain(form)
    out: List[Text] = []
    while True:
        for index, piece in enumerate(pieces):
            out.append(plain(piece))
            if index < slots:
                out.append(rest[index] if index < len(rest) else EMPTY)
        rest = rest[slots:]
        if not rest or len(out) > 4096:
            return join(out)


def _nvidia_smi(argv: List[Text], given: Optional[Text], shell: Shell, machine: Machine) -> Optional[Text]:
    """`nvidia-smi -L`: a line for each GPU, where all of the node's are the job's."""
    if [text.raw for text in argv] not in ([b"-L"], [b"--list-gpus"]) or machine.gpus is None:
        return None
    return unlines([plain(b"GPU %d:" % index) for index in range(machine.gpus)])


def _pwd(argv: List[Text], given: Optional[Text], shell: Shell, machine: Machine) -> Optional[Text]:
    return join([shell.cwd, NEWLINE]) if shell.cwd is not None and not argv else None


def _which(argv: List[Text], given: Optional[Text], shell: Shell, machine: Machine) -> Optional[Text]:
    """The folder of a program is not known, its name is; and there may be no such program."""
    if len(argv) != 1 or not argv[0].literal or not _PROGRAM.fullmatch(argv[0].raw):
        return None
    return plain(token(b"same", b"which") + b"/" + argv[0].raw + b"\n")


def _command(argv: List[Text], given: Optional[Text], shell: Shell, machine: Machine) -> Optional[Text]:
    return _which(argv[1:], given, shell, machine) if argv and argv[0].raw == b"-v" else None


def _cat(argv: List[Text], given: Optional[Text], shell: Shell, machine: Machine) -> Optional[Text]:
    return given if not argv or [text.raw for text in argv] == [b"-"] else None


def _seq(argv: List[Text], given: Optional[Text], shell: Shell, machine: Machine) -> Optional[Text]:
    numbers = [number(text) for text in argv]
    if not 1 <= len(numbers) <= 3 or any(value is None for value in numbers):
        return None
    values = [value for value in numbers if value is not None]
    low, step, high = (
        (1, 1, values[0]) if len(values) == 1 else (values[0], values[1] if len(values) == 3 else 1, values[-1])
    )
    if step < 1 or (high - low) // step > 512:
        return None
    return unlines([plain(b"%d" % value) for value in range(low, high + 1, step)])


def _expr(argv: List[Text], given: Optional[Text], shell: Shell, machine: Machine) -> Optional[Text]:
    from .arithmetic import evaluate

    raw = b" ".join(text.raw for text in argv)
    if NUL in raw:
        return derive(b"expr", argv)
    result = evaluate(raw, lambda name: None)
    return plain(b"%d" % result) if result is not None else None


# --- filters ----------------------------------------------------------------------------------------------------


def _count(argv: List[Text]) -> Optional[int]:
    """Return N of `-n N`, `-nN`, `-N`, `--lines=N`; 10 when nothing is said."""
    raw = b" ".join(text.raw for text in argv)
    if not raw:
        return 10
    match = re.fullmatch(rb"(?:-n ?|--lines[= ]|-)(\d{1,6})", raw)
    return int(match.group(1)) if match else None


def _head(argv: List[Text], given: Optional[Text], shell: Shell, machine: Machine) -> Optional[Text]:
    count = _count(argv)
    if count is None or given is None:
        return None
    many = lines(given)[:count]
    return unlines(many) if not any(line.open for line in many) or len(many) == count == 1 else None


def _tail(argv: List[Text], given: Optional[Text], shell: Shell, machine: Machine) -> Optional[Text]:
    raw = b" ".join(text.raw for text in argv)
    if given is None or given.open or (not given.known and given.raw.count(b"\n") > 1):
        return None
    characters = re.fullmatch(rb"-c ?-?(\d{1,4})", raw)
    if characters:
        flat = given.raw
        return plain(flat[-int(characters.group(1)) :]) if NUL not in flat else derive(b"tail" + raw, [given])
    skipped = re.fullmatch(rb"-n ?\+(\d{1,6})", raw)
    if skipped:
        return unlines(lines(given)[int(skipped.group(1)) - 1 :])
    count = _count(argv)
    return unlines(lines(given)[-count:]) if count else None


_LINE = re.compile(rb"-n ?['\"]?(\d{1,6})p;?(?:\d+q)?['\"]?|(\d{1,6})q")
_BEHIND = re.compile(rb"(?:-e )?s(.)\$\1([^\\&]*?)\1g?", re.DOTALL)

_SWAP = re.compile(rb"s([/,|#])([^\\.*+?\[\]^|(){}/&]{1,80}?)(\$?)\1\1(g?)", re.DOTALL)


def _swapped(given: Text, what: bytes, at_end: bytes, everywhere: bool) -> Optional[Text]:
    """Take plain bytes out of each line: all of them, or those at its end. None where a name may hold them."""
    if what.isalnum() or not everywhere and not at_end:
        return None
    if not at_end:
        return _swap(given, what, b"")
    return unlines(
        [line.slice(0, len(line.raw) - len(what)) if line.raw.endswith(what) else line for line in lines(given)]
    )


def _sed(argv: List[Text], given: Optional[Text], shell: Shell, machine: Machine) -> Optional[Text]:
    """`sed -n 2p`, `sed 1q`, and `sed 's/$/ slots=4/'`."""
    script = b" ".join(text.raw for text in argv)
    if given is None:
        return None
    many = lines(given)
    script = re.sub(rb"\A-e | -e\Z", b"", script)
    swapped = _SWAP.fullmatch(script)
    if swapped and given.known and NODE_LIST not in given.raw:
        return _swapped(given, swapped.group(2), swapped.group(3), bool(swapped.group(4)))
    behind = _BEHIND.fullmatch(script)
    if behind and not given.open:
        return unlines([join([line, plain(behind.group(2))]) for line in many])
    match = _LINE.fullmatch(script)
    if not match:
        return None
    if match.group(2):
        return unlines(many[: int(match.group(2))])
    wanted = int(match.group(1))
    return unlines(many[wanted - 1 : wanted]) if not any(line.open for line in many[:wanted]) else None


_ROW = re.compile(rb"(?:NR|FNR) ?== ?(\d+)(?: ?\{ ?print(?: \$0)?;?(?: ?exit;?)? ?\})?")
_PRINT = re.compile(rb"(NR ?== ?1 ?)?\{ ?print ([^{};]+);?( ?exit;?)? ?\}")
_PRINTED = re.compile(rb"\s*(?:\$(\d)|\"([^\"\\]*)\"|(,))")


def _awk(argv: List[Text], given: Optional[Text], shell: Shell, machine: Machine) -> Optional[Text]:
    """`awk '{print $1}'`, `awk 'NR==1'`, `awk '{print $1" slots=4"}'`."""
    program = b" ".join(text.raw for text in argv).strip()
    if given is None:
        return None
    if re.fullmatch(rb"! ?\w+\[\$[01]\] ?\+\+", program) and not given.open and SOME not in given.raw:
        return unlines(list({line.raw: line for line in lines(given)}.values()))
    if re.fullmatch(rb"END ?\{ ?print NR;? ?\}", program) and given.known:
        return plain(b"%d\n" % len(lines(given)))
    row = _ROW.fullmatch(program)
    if row:
        return _sed([plain(b"-n"), plain(row.group(1) + b"p")], given, shell, machine)
    match = _PRINT.fullmatch(program)
    if not match:
        return None
    many = lines(given)[:1] if match.group(1) or match.group(3) else lines(given)
    printed = [_awk_line(match.group(2), line) for line in many]
    return None if any(line is None for line in printed) else unlines([line for line in printed if line is not None])


def _awk_line(expression: bytes, line: Text) -> Optional[Text]:
    out: List[Text] = []
    at = 0
    while at < len(expression.rstrip()):
        match = _PRINTED.match(expression, at)
        if not match:
            return None
        if match.group(1):
            column = int(match.group(1))
            out.append(line if column == 0 else (split(line) + [EMPTY] * 10)[column - 1])
        else:
            out.append(plain(b" " if match.group(3) else match.group(2)))
        at = match.end()
    return join(out)


def _cut(argv: List[Text], given: Optional[Text], shell: Shell, machine: Machine) -> Optional[Text]:
    match = re.fullmatch(rb"-d ?['\"]?(.)['\"]? -f ?(\d)", b" ".join(text.raw for text in argv), re.DOTALL)
    if not match or given is None or given.open:
        return None
    delimiter, field = match.group(1), int(match.group(2))
    out = []
    for line in lines(given):
        raw = line.raw
        if raw == NODE_LIST and delimiter in b",[-":
            out.append(derive(b"cut", [line]))  # where names have no common beginning, the first may be whole
        elif delimiter == b"." and _TOKEN.fullmatch(raw) and field == 1:  # a short host name has no dot to cut at
            out.append(_short(line))
        elif (
            delimiter in raw and not line.literal and any(mark in raw for mark in (b"\0same", b"\0vary", b"\0nodelist"))
        ):
            return None
        else:
            parts = raw.split(delimiter)
            out.append(plain(parts[field - 1] if field <= len(parts) else (raw if len(parts) == 1 else b"")))
    return unlines(out)


def _short(line: Text) -> Text:
    """Return a node's name cut at its first dot."""
    match = _TOKEN.fullmatch(line.raw)
    if match is None or match.group(1) == b"addr":
        return derive(b"cut", [line])
    return line if match.group(1) == b"host" else plain(host(int(match.group(2))))


def _wc(argv: List[Text], given: Optional[Text], shell: Shell, machine: Machine) -> Optional[Text]:
    flags = [text.raw for text in argv]
    if given is None or not given.known or len(flags) != 1:
        return None  # an unknown value may be many lines
    if flags[0] == b"-l":
        return plain(b"%d\n" % given.raw.count(b"\n"))
    if flags[0] == b"-w":
        return plain(b"%d\n" % len(split(given)))
    return None


_ASCENDING = re.compile(rb"-[bfhnsuVg]+|--unique|--version-sort|--numeric-sort")


def _sort(argv: List[Text], given: Optional[Text], shell: Shell, machine: Machine) -> Optional[Text]:
    if given is None or given.open or any(not _ASCENDING.fullmatch(text.raw) for text in argv):
        return None
    many = sorted(lines(given), key=lambda line: _in_order(line.raw))
    if any(b"u" in text.raw for text in argv):
        if SOME in given.raw:
            return None
        many = list({line.raw: line for line in many}.values())
    return unlines(many)


def _in_order(raw: bytes) -> bytes:
    """Return what lines are sorted by: nodes' names are taken to be sorted as the job's nodes are."""
    return _TOKEN.sub(lambda match: b"\0%s:%09d\0" % (match.group(1), int(match.group(2))), raw)


def _uniq(argv: List[Text], given: Optional[Text], shell: Shell, machine: Machine) -> Optional[Text]:
    flags = [text.raw for text in argv]
    if given is None or given.open or flags not in ([], [b"-c"]) or SOME in given.raw:
        return None
    runs: List[Tuple[Text, int]] = []
    for line in lines(given):
        if runs and runs[-1][0].raw == line.raw:
            runs[-1] = (runs[-1][0], runs[-1][1] + 1)
        else:
            runs.append((line, 1))
    return unlines([join([plain(b"%7d " % count), line]) if flags else line for line, count in runs])


def _tr(argv: List[Text], given: Optional[Text], shell: Shell, machine: Machine) -> Optional[Text]:
    raw = [text.raw.replace(b"\\n", b"\n") for text in argv]
    if given is None or not given.known or NODE_LIST in given.raw:
        return None  # the byte may stand in what is not known
    if len(raw) == 2 and raw[0] == b"-d" and len(raw[1]) == 1:
        return _swap(given, raw[1], b"")
    if len(raw) == 2 and len(raw[0]) == len(raw[1]) == 1:
        return _swap(given, raw[0], raw[1])
    return None


def _swap(given: Text, old: bytes, new: bytes) -> Text:
    """Replace one byte outside tokens."""
    parts = given.raw.split(NUL)
    parts[::2] = [part.replace(old, new) for part in parts[::2]]
    return plain(NUL.join(parts))


def _paste(argv: List[Text], given: Optional[Text], shell: Shell, machine: Machine) -> Optional[Text]:
    match = re.fullmatch(rb"-s -?d ?(.)(?: -)?|-sd ?(.)(?: -)?|-s -d(.)", b" ".join(text.raw for text in argv))
    if not match or given is None or given.open:
        return None
    by = match.group(1) or match.group(2) or match.group(3)
    return join([joined(tuple(lines(given)), by), NEWLINE])


def _tac(argv: List[Text], given: Optional[Text], shell: Shell, machine: Machine) -> Optional[Text]:
    return None if argv or given is None or given.open else unlines(lines(given)[::-1])


def _xargs(argv: List[Text], given: Optional[Text], shell: Shell, machine: Machine) -> Optional[Text]:
    """Without a command of its own xargs prints its input on one line, or one word a line."""
    raw = b" ".join(text.raw for text in argv)
    if given is None or given.open or raw not in (b"", b"echo", b"-n1", b"-n 1", b"-n1 echo", b"-n 1 echo"):
        return None
    many = split(given)
    return unlines(many) if raw.startswith(b"-n") else join([joined(tuple(many)), NEWLINE])


def _same(argv: List[Text], given: Optional[Text], shell: Shell, machine: Machine) -> Optional[Text]:
    return given


def with_name(counted: Optional[Text], path: Text) -> Optional[Text]:
    """Return what `wc` prints of a file: its name stands behind the number."""
    return join([trimmed(counted), plain(b" "), path, NEWLINE]) if counted is not None else None


FILTERS = frozenset(b"wc head tail sed awk gawk sort uniq cut paste tac".split())  # that read the file they are given
Output = Callable[[List[Text], Optional[Text], Shell, Machine], Optional[Text]]
_COMMANDS: Dict[bytes, Output] = {
    b"hostname": _hostname, b"uname": _uname, b"scontrol": _scontrol, b"nodeset": _nodeset, b"getent": _getent,
    b"shuf": _shuf, b"uuidgen": _uuid, b"echo": _echo, b"printf": _printf, b"cat": _cat, b"seq": _seq, b"expr": _expr,
    b"head": _head, b"tail": _tail, b"sed": _sed, b"awk": _awk, b"gawk": _awk, b"cut": _cut, b"wc": _wc, b"sort": _sort,
    b"uniq": _uniq, b"tr": _tr, b"paste": _paste, b"tee": _same, b"xargs": _xargs, b"tac": _tac,
    b"nvidia-smi": _nvidia_smi, b"pwd": _pwd, b"which": _which, b"command": _command,
}  # fmt: skip


def trimmed(text: Text) -> Text:
    """Return a substitution's value: trailing newlines removed."""
    raw = text.raw
    return text.slice(0, len(raw.rstrip(b"\n")))
