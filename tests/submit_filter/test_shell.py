"""What the shell reader makes of each construct."""

from __future__ import annotations

import subprocess

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from maple_submit_filter.bash import nodes as shell
from maple_submit_filter.bash.nodes import Literal, Param, Simple
from maple_submit_filter.bash.parser import parse

from tests.submit_filter.shell_trees import broken, nodes, simple_commands


def only(source: bytes, kind: type) -> shell.Command:
    """Return the only node of a kind in *source*."""
    found = [node for node, _ in nodes(parse(source)) if isinstance(node, kind)]
    assert len(found) == 1, found
    assert shell.unread(parse(source)) == ()
    return found[0]


def word(source: bytes) -> shell.Word:
    """Return the only argument of `x`, which *source* is."""
    return only(b"x " + source, Simple).words[1]


def cooked(parts: "tuple[shell.Part, ...]") -> bytes:
    assert all(isinstance(part, Literal) for part in parts)
    return b"".join(part.text for part in parts)


@pytest.mark.parametrize(
    "source, texts",
    [
        (b"a\\ b'c d'\"e f\"", [(b"a", b""), (b" ", b"\\"), (b"b", b""), (b"c d", b"'"), (b"e f", b'"')]),
        (b"ab\\\ncd", [(b"ab", b""), (b"cd", b"")]),
        (b'"a\\"b\\x\\\nc"', [(b"a", b'"'), (b'"', b"\\"), (b"b\\x", b'"'), (b"c", b'"')]),
        (b"''", [(b"", b"'")]),
        (b'""', [(b"", b'"')]),
        (b"$'a\\tb\\x41\\101\\u00e9'", [(b"a\tbAA\xc3\xa9", b"$'")]),
        (b'$"hi"', [(b"hi", b'"')]),
        (b"a$", [(b"a", b""), (b"$", b"")]),
        (b"a#b", [(b"a#b", b"")]),
        (b"{1..3}", [(b"{1..3}", b"")]),
        (b"@(a|b c)d", [(b"@", b""), (b"(", b""), (b"a|b c", b""), (b")", b""), (b"d", b"")]),
    ],
)
def test_literals_stand_one_for_one_where_they_stand(source, texts):
    assert [(part.text, part.quote) for part in word(source).parts] == texts
    assert broken(b"x " + source) == ""


@pytest.mark.parametrize(
    "source, name, op, arg, arg2, subscript",
    [
        (b"$x", b"x", b"", None, None, None),
        (b"$12", b"1", b"", None, None, None),
        (b"$?", b"?", b"", None, None, None),
        (b"${x}", b"x", b"", None, None, None),
        (b"${12}", b"12", b"", None, None, None),
        (b"${#x}", b"x", b"length", None, None, None),
        (b"${#}", b"#", b"", None, None, None),
        (b"${##}", b"#", b"length", None, None, None),
        (b"${#-}", b"-", b"length", None, None, None),
        (b"${#:-3}", b"#", b":-", b"3", None, None),
        (b"${##*/}", b"#", b"#", b"*/", None, None),
        (b"${!x}", b"x", b"indirect", None, None, None),
        (b"${!a[@]}", b"a", b"keys", None, None, b"@"),
        (b"${!SL@}", b"SL", b"names", None, None, None),
        (b"${!x:-y}", b"x", b"!:-", b"y", None, None),
        (b"${x:-a b}", b"x", b":-", b"a b", None, None),
        (b"${x-}", b"x", b"-", b"", None, None),
        (b"${x%%.*}", b"x", b"%%", b".*", None, None),
        (b"${x##*/}", b"x", b"##", b"*/", None, None),
        (b"${x//a/b/c}", b"x", b"//", b"a", b"b/c", None),
        (b"${x/#a}", b"x", b"/#", b"a", None, None),
        (b"${x:1:2}", b"x", b":", b"1", b"2", None),
        (b"${x: -1}", b"x", b":", b" -1", None, None),
        (b"${x:(1+2):3}", b"x", b":", b"(1+2)", b"3", None),
        (b"${a[@]:1}", b"a", b":", b"1", None, b"@"),
        (b"${a[i+1]}", b"a", b"", None, None, b"i+1"),
        (b"${x^^}", b"x", b"^^", b"", None, None),
        (b"${x@Q}", b"x", b"@", b"Q", None, None),
        (b"${#a[@]}", b"a", b"length", None, None, b"@"),
        (b"${x:?}", b"x", b":?", b"", None, None),
        (b"${foo.bar}", b"", b"bad", None, None, None),
    ],
)
@pytest.mark.parametrize("quote", [b"", b'"'])
def test_parameters_are_read_with_their_operators(source, name, op, arg, arg2, subscript, quote):
    whole = b"x " + quote + source + quote
    param = next(node for node, _ in nodes(parse(whole)) if isinstance(node, Param))
    said = [whole[one.span.start : one.span.end] if one else None for one in (param.arg, param.arg2, param.subscript)]
    assert (param.name, param.op, *said) == (name, op, arg, arg2, subscript)
    assert param.quoted == bool(quote)
    assert whole[param.span.start : param.span.end] == source[: 2 if source == b"$12" else None]


@pytest.mark.parametrize(
    "source, expected",
    [
        (b"a && b || c | d; e & f", [b"a", b"b", b"c", b"d", b"e", b"f"]),
        (b"a $(b; x `c`) <(d) >(e)", [b"a", b"b", b"x", b"c", b"d", b"e"]),
        (b"if a; then b; elif c; then d; else e; fi >f", [b"a", b"b", b"c", b"d", b"e"]),
        (b"while a; do b; done; until c\ndo d\ndone", [b"a", b"b", b"c", b"d"]),
        (b"for i in 1 2; do a; done; for i; do b; done; for i in 1; { c; }", [b"a", b"b", b"c"]),
        (b"for ((i=0; i<3; i++)); do a; done; select x in 1; do b; done", [b"a", b"b"]),
        (b"case $x in a|b) c ;; (d) e ;& *) f ;;& esac) g", [b"c", b"e", b"f"]),
        (b"f() { a; }; function g { b; }; function h() (c); i () { d; } >x", [b"a", b"b", b"c", b"d"]),
        (b"( a; b ); { c; }; ! d; time -p e; !(f)", [b"a", b"b", b"c", b"d", b"e", b"f"]),
        (b"[[ $x =~ ^(a|b)$ && -n $(a) ]] && b; (( x > $(c) )) && d", [b"a", b"b", b"c", b"d"]),
        (b"x=$(a) y=(1 $(b)) c; z+=(\n1 # no\n2)\nd", [b"a", b"b", b"c", b"d"]),
        (b"a <<E | b\n$(c)\nE\nd", [b"a", b"b", b"d", b"c"]),
        (b"a <<E <<'F'\nx\nE\n$(no)\nF\nb", [b"a", b"b"]),
        (b"$((1 + $(a))) ; $((b) | (c))", [b"$((1 + $(a)))", b"a", b"$((b) | (c))", b"b", b"c"]),
        (b"a $(case x in x) b;; esac) # ' comment\nc", [b"a", b"b", b"c"]),
        (b"if (a) then { b; } fi", [b"a", b"b"]),
        (b"echo if; then=1 done", [b"echo", b"done"]),
    ],
)
def test_every_simple_command_is_found_wherever_it_stands(source, expected):
    found = [words[0] for _, words in simple_commands(source) if words]
    assert sorted(found) == sorted(expected)


@pytest.mark.parametrize(
    "source, fd, op, target",
    [
        (b"x >f", None, b">", b"f"),
        (b"x 2>&1", b"2", b">&", b"1"),
        (b"x &>f", None, b"&>", b"f"),
        (b"x &>>f", None, b"&>>", b"f"),
        (b"x {fd}>f", b"{fd}", b">", b"f"),
        (b"x >|f", None, b">|", b"f"),
        (b"x <>f", None, b"<>", b"f"),
        (b"x >&-", None, b">&", b"-"),
        (b"x <<<'a b'", None, b"<<<", b"'a b'"),
        (b"x < <(y)", None, b"<", b"<(y)"),
        (b">f x", None, b">", b"f"),
        (b"x 10>>f", b"10", b">>", b"f"),
    ],
)
def test_redirections_keep_descriptor_operator_and_target(source, fd, op, target):
    redirect = only(source, shell.Redirect)
    said = source[redirect.target.span.start : redirect.target.span.end]
    assert (redirect.fd, redirect.op, said) == (fd, op, target)


@pytest.mark.parametrize(
    "source, delimiter, quoted, body, closed",
    [
        (b"x <<E\na\nE\n", b"E", False, b"a\n", True),
        (b"x <<'E'\n$a\nE", b"E", True, b"$a\n", True),
        (b"x <<-E\n\ta\n\tE\n", b"E", False, b"\ta\n", True),
        (b"x <<\\E\na\\\nE\n", b"E", True, b"a\\\n", True),
        (b"x <<E\na\\\nE\nE\n", b"E", False, b"a\\\nE\n", True),
        (b"x <<E\na", b"E", False, b"a", False),
        (b"x <<E", b"E", False, b"", False),
        (b'x <<"E F" && y\na\nE F\nz', b"E F", True, b"a\n", True),
        (b"x $(y <<E\n)\nE\n)", b"E", False, b")\n", True),
        (b"`x <<E\na\nE\n`", b"E", False, b"a\n", True),
        (b"x <<E; y 'a\nb'\nq\nE\n", b"E", False, b"q\n", True),
        (b"(x <<E\n)\nE\n)", b"E", False, b")\n", True),
        (b"x <<E # E\nE\n", b"E", False, b"", True),
        (b"x << E\nE \nE\n", b"E", False, b"E \n", True),
    ],
)
def test_here_documents_end_where_bash_ends_them(source, delimiter, quoted, body, closed):
    heredoc = only(source, shell.Redirect).heredoc
    said = source[heredoc.span.start : heredoc.span.end]
    assert (heredoc.delimiter, heredoc.quoted, said, heredoc.closed) == (delimiter, quoted, body, closed)


def test_tabs_that_a_here_document_drops_are_in_no_literal():
    parts = only(b"x <<-E\n\t\ta\n\t$b\n\tE\n", shell.Redirect).heredoc.body.parts
    assert [getattr(part, "text", b"$b") for part in parts] == [b"a\n", b"$b", b"\n"]


@pytest.mark.parametrize(
    "source, name, subscript, append, value, array",
    [
        (b"a=b", b"a", None, False, b"b", None),
        (b"a=", b"a", None, False, b"", None),
        (b"a+=b", b"a", None, True, b"b", None),
        (b"a[i+1]=b", b"a", b"i+1", False, b"b", None),
        (b"a=(b 'c d' [3]=e)", b"a", None, False, None, [b"b", b"'c d'", b"[3]=e"]),
        (b"a+=()", b"a", None, True, None, []),
        (b'a=$b"c"', b"a", None, False, b'$b"c"', None),
        (b"declare -a a=(b c)", b"a", None, False, None, [b"b", b"c"]),
    ],
)
def test_assignments_keep_name_subscript_and_value(source, name, subscript, append, value, array):
    one = only(source, shell.Assignment)
    said = [one and source[one.span.start : one.span.end] for one in (one.subscript, one.value)]
    words = None if one.array is None else [source[each.span.start : each.span.end] for each in one.array]
    assert (one.name, said[0], one.append, said[1], words) == (name, subscript, append, value, array)


def test_what_looks_like_an_assignment_behind_the_command_is_a_word():
    assert simple_commands(b"export A=b C=(1 2) d=e") == [((b"C=(1 2)",), (b"export", b"A=b", b"d=e"))]


def test_backquotes_with_escapes_are_not_read_inside():
    sub = only(b"x `a \\`b\\``", shell.CommandSub)
    assert sub.body is None


@pytest.mark.parametrize(
    "source, unread, after",
    [
        (b"a\nb ( c\nd", [b"b ( c"], [b"a", b"d"]),
        (b"fi\nd", [b"fi"], [b"d"]),
        (b"coproc a b\nd", [b"coproc a b"], [b"d"]),
        (b"if a; then\nb | | c\nd\nfi\ne", [b"b | | c"], [b"a", b"d", b"e"]),
        (b"a 'b\nc", [b"a 'b\nc"], []),
        (b"a $(b ; ; c)\nd", [b"a $(b ; ; c)"], [b"d"]),
        (b"x <<E\n$(y\nE\nz", [b"$(y\n"], [b"x", b"z"]),
        (b"foo b=(1)\nd", [b"foo b=(1)"], [b"d"]),
        (b"x ( <<E\ny\nE\nz", [b"x ( <<E"], [b"y", b"E", b"z"]),
    ],
)
def test_an_error_costs_its_line_and_reading_goes_on_behind(source, unread, after):
    program = parse(source)
    assert [source[one.span.start : one.span.end] for one in shell.unread(program)] == unread
    assert [words[0] for _, words in simple_commands(source)] == after


QUOTED = st.lists(
    st.sampled_from(
        [
            b"a",
            b"B7",
            b"-x=",
            b"'q r'",
            b'"s t"',
            b"\\ ",
            b"\\'",
            b"''",
            b'""',
            b'"\\$u"',
            b'"\\\\"',
            b"\\\n",
            b"$'n\\tm'",
            b"'\\'",
            b'"\'"',
            b" ",
            b"  ",
            b"\\\\",
            b"/",
            b",",
            b'"a\\\nb"',
            b'"\\z"',
            b"\\#",
            b"#",
            b"%",
            b"$'\\'w'",
            b"=",
            b"$'\\x41\\e'",
        ]
    ),
    max_size=25,
).map(b"".join)


@settings(max_examples=60, deadline=None)
@given(QUOTED)
def test_words_of_quotes_and_escapes_are_what_bash_makes_of_them(text):
    source = b"printf '%s\\0' x " + text + b"\n"
    ran = subprocess.run(["bash", "-f"], input=source, capture_output=True, timeout=20, env={"LC_ALL": "C.UTF-8"})
    words = parse(source).items[0].command.words
    assert [cooked(one.parts) for one in words[2:]] == ran.stdout.split(b"\0")[:-1]
