"""The ways of writing one thing: a variable that is set, an option that is given, a word that is another."""

from __future__ import annotations

import re
from typing import Optional

from tests.reality.slips.script import Script
from tests.reality.slips.slip import Change, Spellings


def in_front(lines: bytes) -> Change:
    """Write lines in front of the launch line."""
    return lambda script: script.before(lines)


def swapped(pattern: bytes, new: bytes) -> Change:
    """Replace the first match in the script."""
    return lambda script: script.swap(pattern, new)


def on_line(pattern: bytes, new: bytes) -> Change:
    """Replace the first match on the launch line."""
    return lambda script: script.swap_launch(pattern, new)


def variable(name: bytes, value: bytes) -> Spellings:
    """Set a variable for what is started, in front of or on the launch line."""
    said = name + b"=" + value

    def ahead(form: bytes) -> Change:
        return in_front(form.replace(b"NAME", name).replace(b"VALUE", value) + b"\n")

    return {
        "export": ahead(b"export NAME=VALUE"),
        "quoted": ahead(b'export NAME="VALUE"'),
        "then exported": lambda script: _two(script, said, b"export " + name),
        "in a function": ahead(b"setup() {\n    export NAME=VALUE\n}\nsetup"),
        "by another": lambda script: _two(script, b"DEFAULT_VALUE=" + value, b"export " + name + b"=$DEFAULT_VALUE"),
        "declare -x": ahead(b"declare -x NAME=VALUE"),
        "with others": ahead(b"export OMP_NUM_THREADS=4 NAME=VALUE TOKENIZERS_PARALLELISM=false"),
        "set -a": ahead(b"set -a\nNAME=VALUE\nset +a"),
        "as a prefix": lambda script: script.put(script.line.start, script.line.start, said + b" "),
        "env in the task": lambda script: _in_task(script, b"env " + said + b" "),
        "behind &&": ahead(b"module list && export NAME=VALUE"),
    }


def _two(script: Script, above: bytes, below: bytes) -> bytes:
    text = script.before(below + b"\n")
    return text[: script.body] + b"\n" + above + b"\n" + text[script.body :]


def _in_task(script: Script, words: bytes) -> Optional[bytes]:
    at = script.program
    return script.put(at[0], at[0], words) if at is not None and at[0] > script.line.start else None


def assigned(name: bytes, value: bytes) -> Spellings:
    """Give another value to a variable that the script itself sets, where it sets it."""
    given = rb"(?:\$\((?:[^()\n]|\([^()\n]*\))*\)|[^\s;&|]+|\"[^\"\n]*\")[ \t]*$"
    old = rb"^([ \t]*(?:export[ \t]+)?" + name + rb"=)" + given
    quiet = value.replace(b"\\", b"\\\\")
    return {
        "in place": swapped(old, rb"\g<1>" + quiet),
        "in quotes": swapped(old, rb'\g<1>"' + quiet + b'"'),
        "a default": swapped(old, rb"\g<1>${" + name + b":-" + quiet + b"}"),
        "by another": swapped(old, rb"VALUE_OF_MINE=" + quiet + rb"\n\g<1>$VALUE_OF_MINE"),
        "in a function": swapped(old, rb"settle() {\n    export " + name + b"=" + quiet + rb"\n}\nsettle"),
        "exported later": swapped(old, name + b"=" + quiet + rb"\nexport " + name),
        "declare -x": swapped(old, rb"declare -x " + name + b"=" + quiet),
        "if and else": swapped(
            old, rb'if [ -n "$MY_OWN" ]; then\n    export ' + name + b"=" + quiet + rb"\nelse\n    export " + name
            + b"=" + quiet + rb"\nfi"),
    }  # fmt: skip


def option(names: bytes, value: bytes, *more: bytes) -> Spellings:
    """Give another value to an option of the launch line; *names* is a regular expression. *more*: other spellings."""
    old = rb"(?<=[ \t'])(" + names + rb")(=|[ \t]+)(\"[^\"\n]*\"|(?:\$\([^()\n]*\)|`[^`\n]*`|[^\s'\"`()])+)"
    whole = re.compile(old)

    def said(form: bytes) -> Change:
        return lambda script: script.swap_launch(old, form.replace(b"VALUE", value.replace(b"\\", b"\\\\")))

    def above(form: bytes, first: bytes) -> Change:
        return lambda script: _set_above(script, whole, form, first.replace(b"VALUE", value))

    forms: dict[str, Change] = {
        "as it stands": said(rb"\g<1>\g<2>VALUE"),
        "with =": said(rb"\g<1>=VALUE"),
        "with a blank": said(rb"\g<1> VALUE"),
        "in quotes": said(rb'\1\2"VALUE"'),
        "by a variable": above(rb"\1\2$MY_WORD", b"MY_WORD=VALUE"),
        "by a default": said(rb"\1\2${MY_WORD:-VALUE}"),
        "in a list": above(b'"${MY_ARGS[@]}"', rb"MY_ARGS=(\1=VALUE)"),
        "in a string": above(b"$MY_ARGS", rb'MY_ARGS="\1=VALUE"'),
    }
    for name in more:
        forms[f"as {name.decode()}"] = said(name + (b"" if name.endswith(b"=") else b" ") + b"VALUE")
    return forms


def _set_above(script: Script, old: re.Pattern[bytes], form: bytes, first: bytes) -> Optional[bytes]:
    found = old.search(script.text, script.line.start, script.line.end)
    if found is None:
        return None
    text = script.put(*found.span(), found.expand(form))
    at = script.body
    first = b"export " + first if b"'" in script.launch and b"(" not in first else first  # another shell reads it
    return text[:at] + b"\n" + found.expand(first) + b"\n" + text[at:]


def unread(words: bytes) -> Spellings:
    """Write words where no launch reads them: in a comment, in what is shown, in a text for people."""
    return {
        "in a comment": in_front(b"# " + words + b"\n"),
        "in an echo": in_front(b"echo 'never: " + words.replace(b"'", b"") + b"'\n"),
        "in a note": in_front(b"cat > note.txt <<'EOF'\n" + words + b"\nEOF\n"),
    }
