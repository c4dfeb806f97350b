"""What a word becomes in one shell: parameters, substitutions, arithmetic, splitting; origins of bytes are kept."""

from __future__ import annotations

import re
import zlib
from typing import Callable, List, Optional, Sequence, Tuple, Union

from ..bash.nodes import Arith, CommandSub, Literal, Param, Part, ProcessSub, Word
from ..types.submission import travels
from ..types.text import EMPTY, NUL, Piece, Text, host, join, number, plain, token
from . import arithmetic
from .shell_state import Shell, Variable, joined, open_value

NODE_LIST = token(b"nodelist")  # of the job, as Slurm shortens it

Substitute = Callable[[Union[CommandSub, ProcessSub], Shell], Text]
_BLANK = re.compile(rb"[^ \t\n]+")
_USUAL = b" \t\n"
_BLANKS = re.compile(rb"[ \t\n]")
_OTHERS = re.compile(rb"[^ \t\n]")
_NAME = re.compile(rb"[A-Za-z_]\w*")
_NODE_NAME = re.compile(rb"\0name:(\d+)\0")
_BRACE = re.compile(rb"^([^{}]*)\{([^{}]*)\}([^{}]*)$")


_ANY = frozenset(b"*?")
_CUTS = (b"%", b"%%", b"#", b"##", b"/", b"//", b"substring", b"cut")


def derive(what: bytes, texts: Sequence[Text]) -> Text:
    """Return the unknown value of a function of *texts*: equal inputs give equal values.

    It belongs to one process (`vary`) as soon as one of the inputs does.
    """
    raw = NUL.join(text.raw for text in texts)
    own = b"\0vary:" in raw or b"\0task:" in raw
    cut = bool(texts) and texts[0].raw == NODE_LIST and what in _CUTS
    if cut and not any(mark in text.raw for text in texts[1:] for mark in (b"[", b"-")):
        return plain(token(b"same", b"cutlist%08x" % zlib.crc32(what + NUL + raw)))
    return plain(token(b"vary" if own else b"same", b"f%08x" % zlib.crc32(what + NUL + raw)))


def word(shell: Shell, unread: Word, substitute: Substitute) -> Text:
    """Return the word as one text, not split (assignments, here-strings, case words)."""
    return join(_joined(shell, part, substitute) for part in unread.parts)


def words(shell: Shell, many: Sequence[Word], substitute: Substitute) -> List[Text]:
    """Return the fields that the words become."""
    out: List[Text] = []
    for word in many:
        out += fields(shell, word, substitute)
    return out


def fields(shell: Shell, word: Word, substitute: Substitute) -> List[Text]:
    """Return the fields of one word: none, one or many."""
    if len(word.parts) == 1 and isinstance(word.parts[0], Literal) and not word.parts[0].quote:
        return _braces(_literal(shell, word.parts[0]))
    done: List[Text] = []
    current: List[Text] = []
    begun = False
    for part in word.parts:
        pieces, keeps = _split(shell, part, substitute)
        begun = begun or keeps
        for index, piece in enumerate(pieces):
            if index:
                done.append(join(current))
                current = []
            current.append(piece)
            begun = begun or bool(piece.raw)
    if begun:
        done.append(join(current))
    return [_settled(text) for text in done]


def _settled(text: Text) -> Text:
    """An unknown value glued to known bytes (`--port=$PORT`) is taken for one word: another would not run."""
    if text.open and any(piece.text[:1] != NUL for piece in text.pieces):
        return _closed(text)
    return text


def _split(shell: Shell, part: Part, substitute: Substitute) -> Tuple[List[Text], bool]:
    """Return a part's texts, a field break between each two, and whether an empty one still makes a field."""
    if isinstance(part, Literal):
        return [_literal(shell, part)], True
    if isinstance(part, Param) and _is_list(part):
        texts = list(parameter(shell, part, substitute))
        if part.quoted:
            return texts, False
        return [piece for text in texts for piece in _fields_of(shell, text)], False
    if (
        isinstance(part, Param)
        and part.arg is not None
        and not part.quoted
        and _takes_argument(shell, part, substitute)
    ):
        return fields(shell, part.arg, substitute), False
    text = _joined(shell, part, substitute)
    if part.quoted if not isinstance(part, ProcessSub) else True:
        return [_closed(text)], True
    pieces = _fields_of(shell, text) or (
        [text] if text.pieces else []
    )  # an empty one leaves no field, but its place is kept
    # A blank at either end breaks the word from its neighbours; scripts that lean on that are rare enough to skip.
    return pieces, False


def _takes_argument(shell: Shell, part: Param, substitute: Substitute) -> bool:
    """Return whether `${name:-word}` or `${name:+word}` surely stands for its word, quotes in it and all."""
    if part.op not in (b":-", b"-", b":+", b"+"):
        return False
    texts = _chosen(shell, part, _variable(shell, part.name), substitute)
    if any(text.open for text in texts):
        return False
    there = bool(b"".join(text.raw for text in texts)) if part.op[:1] == b":" else bool(texts)
    return there == (part.op in (b":+", b"+"))


def split(text: Text) -> List[Text]:
    """Return the words between blanks; a text of unknown words stays one open text."""
    raw = text.raw
    return [text.slice(match.start(), match.end()) for match in _BLANK.finditer(raw)]


def _fields_of(shell: Shell, text: Text) -> List[Text]:
    """Return the words that IFS cuts a text into; blanks are the rule."""
    by = separators(shell)
    if by is None:
        return split(text)
    if not by.literal:
        return [Text(text.pieces, True)] if text.raw else []
    if not by.raw or NUL in text.raw and any(mark in text.raw for mark in (b"\0nodelist", b"\0same:", b"\0vary:")):
        return [text] if text.raw else []
    blanks, others = b"".join(_BLANKS.findall(by.raw)), b"".join(_OTHERS.findall(by.raw))
    raw = text.raw.strip(blanks) if blanks else text.raw
    offset = text.raw.find(raw) if raw else 0
    inner = b"[" + re.escape(blanks) + b"]" if blanks else b"(?!)"
    mark = b"[" + re.escape(others) + b"]" if others else b"(?!)"
    cut = re.compile(b"%s*%s%s*|%s+" % (inner, mark, inner, inner) if blanks else mark)
    out, at = [], 0
    for match in cut.finditer(raw):
        out.append(text.slice(offset + at, offset + match.start()))
        at = match.end()
    return out + ([text.slice(offset + at, offset + len(raw))] if at < len(raw) else [])


def separators(shell: Shell) -> Optional[Text]:
    """Return IFS where a script set it, None where it is blank, tab and newline."""
    set_to = shell.variables.get(b"IFS")  # bash takes none from its environment
    texts = set_to.texts() if set_to is not None else ()
    return texts[0] if texts and texts[0].raw != _USUAL else None


def _closed(text: Text) -> Text:
    return Text(text.pieces, False)


def _literal(shell: Shell, part: Literal) -> Text:
    raw, start, pieces = part.text, part.span.start, shell.base.pieces
    if (
        len(pieces) == 1 and 0 < len(raw) == part.span.end - start and raw[:1] != b"~"
    ):  # as most words stand in a script
        source, at, _ = pieces[0]
        if len(raw) < len(source) and source.startswith(raw, start):
            return Text((Piece(raw, at + start if at >= 0 else -1),))
    if len(part.text) == part.span.end - part.span.start:
        text = shell.base.slice(part.span.start, part.span.end)
        if text.raw == part.text:
            text = Text(text.pieces, False)
            return _tilde(shell, text) if part.text[:1] == b"~" and not part.quote else text
    return plain(part.text)


def _tilde(shell: Shell, text: Text) -> Text:
    raw = text.raw
    if raw != b"~" and raw[:2] != b"~/":
        return text
    home = shell.value(b"HOME")
    return join([_closed(home) if home else derive(b"home", ()), text.slice(1)])


def _braces(text: Text) -> List[Text]:
    """Return `{a,b}` and `{0..3}` expanded, in the one simple shape that launch scripts use."""
    match = _BRACE.match(text.raw) if b"{" in text.raw else None
    if not match:
        return [text]
    before, inside, behind = match.groups()
    if b"," in inside:
        items = inside.split(b",")
    else:
        ends = inside.split(b"..")
        if len(ends) != 2 or not all(end.isdigit() and len(end) < 5 for end in ends):
            return [text]
        low, high = int(ends[0]), int(ends[1])
        step = 1 if low <= high else -1
        items = [b"%d" % value for value in range(low, high + step, step)][:256]
    return [plain(before + item + behind) for item in items]


def _is_list(part: Param) -> bool:
    if part.op == b"length":
        return False
    if part.name == b"@" or (part.name == b"*" and not part.quoted):
        return True
    subscript = _flat(part.subscript)
    return subscript == b"@" or (subscript == b"*" and not part.quoted)


def _flat(word: Optional[Word]) -> bytes:
    return b"".join(part.text for part in word.parts if isinstance(part, Literal)) if word else b""


def _joined(shell: Shell, part: Part, substitute: Substitute) -> Text:
    if isinstance(part, Literal):
        return _literal(shell, part)
    cover = shell.base.span(part.span.start, part.span.end)
    if isinstance(part, Param):
        texts = parameter(shell, part, substitute)
        shell.use(shell.base, part.span.start, part.name, False, bool(texts) and not texts[0].open)
        return joined(texts, _between(shell, part)).covered(cover)
    if isinstance(part, Arith):
        return arith(shell, word(shell, part.text, substitute)).covered(cover)
    return substitute(part, shell).covered(cover)


def _between(shell: Shell, part: Param) -> bytes:
    """Return what stands between the elements of `"${list[*]}"`: the first byte of IFS."""
    by = separators(shell) if part.quoted and (part.name == b"*" or _flat(part.subscript) == b"*") else None
    return b" " if by is None or not by.literal else by.raw[:1]


def arith(shell: Shell, expression: Text) -> Text:
    """Return what `$(( expression ))` prints."""
    raw = expression.raw
    if NUL not in raw:
        result = arithmetic.evaluate(raw, lambda name: _number_of(shell, name))
        if result is not None:
            return plain(b"%d" % result)
    names = [shell.value(name) or EMPTY for name in _NAME.findall(raw)]
    if any(name == b"RANDOM" for name in _NAME.findall(raw)):
        return shell.draw(b"arith%08x" % zlib.crc32(raw))
    return derive(b"arith" + raw, [*names, expression])


def _number_of(shell: Shell, name: bytes) -> Optional[int]:
    if name == b"RANDOM":
        return None
    texts = shell.get(name).texts()
    return number(texts[0]) if texts else 0


# --- parameters -------------------------------------------------------------------------------------------------


def parameter(shell: Shell, part: Param, substitute: Substitute) -> Tuple[Text, ...]:
    """Return the texts a parameter stands for: none when unset, several for `@`."""
    if part.op in (b"names", b"bad") or part.op[:1] == b"!":
        return (_nameless(shell, b"parameter", part),)
    if part.op == b"indirect":
        name = shell.value(part.name)
        return _variable(shell, name.raw).texts() if name is not None and name.literal else (open_value(b"indirect"),)
    variable = _variable(shell, part.name)
    texts = _chosen(shell, part, variable, substitute)
    if part.op == b"length":
        return (_length(part, texts),)
    if part.op == b"keys":
        return tuple(plain(b"%d" % index) for index in range(len(texts)))
    if not part.op:
        return texts
    if part.op == b":" and _every(part):
        return _slice_of(shell, part, texts, substitute)
    return _operate(shell, part, texts, substitute)


def _nameless(shell: Shell, what: bytes, part: Param) -> Text:
    """Return an unknown value that is told from others by the place of its parameter."""
    shell.place_named()
    return open_value(b"%s%d" % (what, part.span.start))


def _every(part: Param) -> bool:
    """Return whether all elements of a list are meant."""
    return part.name in (b"@", b"*") or _flat(part.subscript) in (b"@", b"*")


def _slice_of(shell: Shell, part: Param, texts: Tuple[Text, ...], substitute: Substitute) -> Tuple[Text, ...]:
    """Return the elements that `${list[@]:offset:length}` names; the first argument is number 1."""
    first = _signed(arith(shell, word(shell, part.arg, substitute))) if part.arg else None
    count = _signed(arith(shell, word(shell, part.arg2, substitute))) if part.arg2 else len(texts)
    of_arguments = part.name in (b"@", b"*")
    if first is None or count is None or any(text.open for text in texts) or (of_arguments and first < 1):
        return (_nameless(shell, b"slice", part),)
    if of_arguments:
        first -= 1
    first = max(len(texts) + first, 0) if first < 0 else first
    return texts[first : first + count] if count >= 0 else (_nameless(shell, b"slice", part),)


def _signed(text: Text) -> Optional[int]:
    raw = text.raw.strip() if text.literal else b""
    return int(raw) if re.fullmatch(rb"-?\d{1,9}", raw) else None


def _variable(shell: Shell, name: bytes) -> Variable:
    special = _special(shell, name)
    return special if special is not None else shell.get(name)


def _argument(shell: Shell, index: int) -> Variable:
    """Return one argument; behind a word that may be any number of them none is known, nor whether there is one."""
    for at, text in enumerate(shell.positional[: index + 1]):
        if text.open:
            return Variable(open_value(b"argument%d.%s" % (index - at, text.raw.replace(NUL, b""))))
    return Variable(shell.positional[index]) if index < len(shell.positional) else Variable()


def _special(shell: Shell, name: bytes) -> Optional[Variable]:
    if name in (b"@", b"*"):
        return Variable(None, tuple(shell.positional))
    if name == b"#":
        open_ones = [text.raw.replace(NUL, b"") for text in shell.positional if text.open]
        number_of = b"count%d." % len(shell.positional) + b".".join(open_ones)
        return Variable(shell.mix(number_of[:256]) if open_ones else plain(b"%d" % len(shell.positional)))
    if name.isdigit() and name != b"0":
        return _argument(shell, int(name) - 1)
    if name in (b"?", b"!", b"-", b"_", b"0", b"$", b"PPID", b"BASHPID", b"SECONDS", b"BASH_SOURCE", b"LINENO"):
        return Variable(shell.mix(b"special%02x" % name[0]))
    if name == b"IFS" and name not in shell.variables:
        return Variable(plain(_USUAL))
    if name in (b"RANDOM", b"SRANDOM", b"EPOCHREALTIME"):
        return Variable(shell.draw(name))
    return None


def _chosen(shell: Shell, part: Param, variable: Variable, substitute: Substitute) -> Tuple[Text, ...]:
    if part.subscript is None:
        if part.name in (b"@", b"*"):
            return variable.array or ()
        return variable.texts()[:1]
    if _flat(part.subscript) in (b"@", b"*"):
        return variable.texts()
    texts = variable.texts()
    if any(text.open for text in texts):
        first = texts[:1]
        return first if _flat(part.subscript) == b"0" and first and not first[0].open else (open_value(b"element"),)
    index = arith(shell, word(shell, part.subscript, substitute))
    if not index.literal:
        return (derive(b"element", [index, *texts]),)
    position = int(index.raw)
    return texts[position : position + 1 or None] if -len(texts) <= position < len(texts) else ()


def _length(part: Param, texts: Tuple[Text, ...]) -> Text:
    if any(text.open for text in texts):
        return derive(b"length", texts)
    if part.name in (b"@", b"*") or _flat(part.subscript) in (b"@", b"*"):
        return plain(b"%d" % len(texts))
    text = texts[0] if texts else EMPTY
    return plain(b"%d" % len(text.raw)) if text.literal else derive(b"length", [text])


def _operate(shell: Shell, part: Param, texts: Tuple[Text, ...], substitute: Substitute) -> Tuple[Text, ...]:
    if part.op in (b":-", b"-", b":=", b"=", b":+", b"+", b":?", b"?"):
        return _default(shell, part, texts, substitute)
    argument = word(shell, part.arg, substitute) if part.arg else EMPTY
    second = word(shell, part.arg2, substitute) if part.arg2 else EMPTY
    return tuple(_change(shell, part.op, text, argument, second, part.arg2 is not None) for text in texts)


def _default(shell: Shell, part: Param, texts: Tuple[Text, ...], substitute: Substitute) -> Tuple[Text, ...]:
    argument = word(shell, part.arg, substitute) if part.arg else EMPTY
    if part.op not in (b":?", b"?", b":+", b"+") and _is_nowhere(shell, part, texts) and number(argument) is not None:
        texts = ()
    raw = b"".join(text.raw for text in texts)
    if any(text.open for text in texts):  # set or not: nobody knows
        return texts if part.op in (b":?", b"?") else (Text(derive(b"default", [*texts, argument]).pieces, True),)
    there = bool(raw) if part.op[:1] == b":" else bool(texts)
    if part.op in (b":+", b"+"):
        return (argument,) if there else ()
    if there or part.op in (b":?", b"?"):
        return texts
    if part.op in (b":=", b"="):
        shell.set(part.name, argument)
    return (argument,)


def _is_nowhere(shell: Shell, part: Param, texts: Tuple[Text, ...]) -> bool:
    """Return whether only a module or a login could have set a variable that the submitter has not.

    Of numbers that a script has a default for, as in `${RANKS_PER_NODE:-12}`, the default is taken.
    """
    if part.subscript is not None or part.name.startswith(b"PBS_") or not travels(part.name, shell.mentioned):
        return False
    return tuple(text.raw for text in texts) == (open_value(b"env." + part.name).raw,)


def _change(shell: Shell, op: bytes, text: Text, argument: Text, second: Text, has_second: bool) -> Text:
    if text.open:
        return text
    if op == b":":
        return _substring(shell, text, argument, second, has_second)
    raw, pattern = text.raw, argument.raw
    tokens = NUL in pattern or any(mark in raw for mark in (b"\0nodelist", b"\0same:", b"\0vary:", b"\0task:"))
    if tokens or (NUL in raw and op[:1] not in (b"#", b"%")):
        return derive(op, [text, argument, second])
    if NUL in raw and b"\0name:" in raw:
        return _short_name(op, raw, pattern) or derive(op, [text, argument])
    if op in (b"#", b"##", b"%", b"%%"):
        low, high = _trim(op, raw, pattern)
        return text.slice(low, high)
    if op in (b"/", b"//", b"/#", b"/%"):
        return plain(_replace(op, raw, pattern, second.raw)) if NUL not in second.raw else derive(op, [text, second])
    if op in (b"^", b"^^", b",", b",,"):
        changed = raw.upper() if op[:1] == b"^" else raw.lower()
        return plain(changed if len(op) == 2 else changed[:1] + raw[1:])
    return derive(op, [text, argument])


def _short_name(op: bytes, raw: bytes, pattern: bytes) -> Optional[Text]:
    """Return a node's name without its domain, where that is what is cut off."""
    match = _NODE_NAME.fullmatch(raw)
    return plain(host(int(match.group(1)))) if match and op == b"%%" and pattern == b".*" else None


def _substring(shell: Shell, text: Text, start: Text, length: Text, has_length: bool) -> Text:
    first = arith(shell, start)
    count = arith(shell, length) if has_length else EMPTY
    if not (text.literal and first.literal and count.literal):
        return derive(b"substring", [text, first, count])
    size = len(text.raw)
    low = int(first.raw or b"0")
    low = max(size + low, 0) if low < 0 else low
    if not has_length:
        return text.slice(low)
    high = int(count.raw or b"0")
    return text.slice(low, low + high if high >= 0 else size + high)


def pattern_regex(pattern: bytes, greedy: bool = True) -> bytes:
    """Return the regular expression of a shell pattern (`*`, `?`, `[...]`)."""
    out = b""
    at = 0
    while at < len(pattern):
        char = pattern[at : at + 1]
        close = pattern.find(b"]", at + 2) if char == b"[" else -1
        if char == b"*":
            out += b".*" if greedy else b".*?"
        elif char == b"?":
            out += b"."
        elif close > 0:
            inside = pattern[at + 1 : close].replace(b"\\", b"\\\\")
            out += b"[" + (b"^" + inside[1:] if inside[:1] in (b"!", b"^") else inside) + b"]"
            at = close
        else:
            out += re.escape(char)
        at += 1
    return out


def matches(raw: bytes, pattern: bytes) -> bool:
    """Return whether the bytes match a shell pattern as a whole."""
    try:
        return re.fullmatch(pattern_regex(pattern), raw, re.DOTALL) is not None
    except re.error:
        return raw == pattern


def _trim(op: bytes, raw: bytes, pattern: bytes) -> Tuple[int, int]:
    """Return which bytes are left after removing a prefix or suffix."""
    size = len(raw)
    if b"[" not in pattern and any(byte not in raw for byte in set(pattern) - _ANY):
        return 0, size
    front = op[:1] == b"#"
    try:
        regex = re.compile(pattern_regex(pattern), re.DOTALL)
    except re.error:
        regex = re.compile(re.escape(pattern))
    lengths = range(size + 1) if len(op) == 1 else range(size, -1, -1)
    for length in lengths:
        low, high = (0, length) if front else (size - length, size)
        if regex.fullmatch(raw, low, high):
            return (length, size) if front else (0, size - length)
    return 0, size


def _replace(op: bytes, raw: bytes, pattern: bytes, new: bytes) -> bytes:
    try:
        regex = pattern_regex(pattern)
        if op == b"/#":
            regex = b"^" + regex
        if op == b"/%":
            regex = regex + b"$"
        return re.sub(regex, lambda _: new, raw, count=0 if op == b"//" else 1, flags=re.DOTALL) if pattern else raw
    except re.error:
        return raw
