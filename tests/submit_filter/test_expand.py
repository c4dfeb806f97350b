"""What words become, judged by bash: where Maple says it knows, bash must say the same."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from maple_submit_filter.play.expansion import _trim, matches

from tests.submit_filter.played import by_bash, captured

SNIPPETS = {
    "plain": b"capture a 'b c' \"d e\" f\\ g",
    "variable": b'N=4; capture $N ${N} "$N" x${N}y',
    "splits": b"A='1 2  3'; capture $A \"$A\" a$A",
    "empty": b'E=; capture $E "$E" x$E; capture $UNSET_BY_ANYONE_MPL',
    "default": b"A=; capture ${A:-x} ${A-y} ${UNSET_MPL:-z} ${UNSET_MPL-'a b'} ${UNSET_MPL:-\"a b\"}",
    "assign-default": b"capture ${NEW_MPL:=7}; capture $NEW_MPL",
    "alternative": b"A=1; capture ${A:+yes} ${A+yes} ${UNSET_MPL:+no}",
    "trim": b"P=/a/b.tar.gz; capture ${P#*/} ${P##*/} ${P%.*} ${P%%.*}",
    "replace": b'P=a,b,c; capture ${P/,/ } "${P//,/ }" ${P//[^,]/}',
    "substring": b"P=abcdef; capture ${P:2} ${P:1:3} ${P: -2} ${P:0:-1}",
    "length": b"P=abc; A=(x y z); capture ${#P} ${#A[@]} ${#A}",
    "case": b"P=aBc; capture ${P^^} ${P,,} ${P^} ${P,}",
    "array": b'A=(a \'b c\' d); capture "${A[@]}" ${A[1]} "${A[*]}" ${A[@]} ${A[-1]}',
    "array-append": b'A=(a); A+=(b c); A[1]=x; capture "${A[@]}"',
    "array-as-command": b'CMD=(capture -n 2); CMD+=(train.py); "${CMD[@]}" --lr 3',
    "command-in-string": b"CMD='capture --nproc 4'; $CMD train.py",
    "arithmetic": b"N=3; capture $((N*4)) $((N % 2 == 1 ? 7 : 8)) $(( (N+1)/2 )) $((2**10)) $((0x1f))",
    "arithmetic-minus": b"capture $((-7 / 2)) $((-7 % 3)) $((1 << 4)) $((5 & 3 | 8))",
    "nested": b'A=x; B=A; capture ${!B} "${A:-${B:-c}}"',
    "braces": b"capture {1..3} a{x,y}b {3..1}",
    "function": b"run() { capture \"$@\" $#; }; run a 'b c'",
    "function-locals": b"f() { local X=2; capture $X; }; X=1; f; capture $X",
    "shift": b'set -- a b c; shift; capture $1 $# "$@"',
    "if": b"N=2; if [ $N -gt 1 ]; then capture many; else capture one; fi",
    "if-string": b'M=ddp; if [[ $M == d* && $M != x ]]; then capture yes; fi; [ "$M" = ddp ] && capture ok',
    "elif": b"N=3; if (( N == 1 )); then capture 1; elif (( N == 3 )); then capture 3; fi",
    "case-word": b"M=fsdp; case $M in ddp) capture a;; fsdp|zero) capture b;; *) capture c;; esac",
    "for": b"for i in 1 2 '3 4'; do capture $i; done",
    "for-counted": b"for ((i=0; i<3; i++)); do capture $i; done",
    "for-seq": b"for i in $(seq 1 3); do capture w$i; done",
    "substitution": b'capture $(echo a b) "$(echo a b)" `echo c`',
    "substitution-pipe": b"capture $(printf '%s\\n' x y z | head -n 1) $(echo a:b:c | cut -d: -f2)",
    "substitution-wc": b"capture $(printf 'a\\nb\\n' | wc -l | tr -d ' ')",
    "here-string": b'read -r A B <<< \'x y z\'; capture "$A" "$B"',
    "read-array": b"IFS=',' read -ra L <<< 'a,b,c'; capture \"${L[@]}\"",
    "mapfile": b"mapfile -t L < <(printf 'a\\nb c\\n'); capture \"${L[@]}\" ${#L[@]}",
    "subshell": b"A=1; (A=2; capture $A); capture $A",
    "group": b"A=1; { A=2; }; capture $A",
    "export": b"export A=1 B='x y'; capture $A \"$B\"",
    "declare": b"declare -i N=3; readonly M=4; capture $N $M",
    "unset": b'A=1; unset A; capture "${A-gone}"',
    "continuation": b"capture a \\\n  b \\\n  c",
    "dollar-quote": b"capture $'a\\tb' $\"c\"",
    "comment": b"capture a # b\ncapture 'c # d'",
    "exit": b"capture a; exit 0; capture b",
    "eval": b"C='capture x y'; eval $C",
    "printf-v": b"printf -v A '%s-%s' x y; capture $A",
    "let": b"let N=3*4; capture $N",
    "tilde-quoted": b"capture '~' \"~\"",
    "expr": b"capture $(expr 3 \\* 4)",
    "and-or": b"false || capture a; true && capture b; false && capture c",
    "negated": b"! false && capture a",
    "sed": b"capture $(printf 'a\\nb\\nc\\n' | sed -n 2p)",
    "awk": b"capture $(echo 'x y z' | awk '{print $2}')",
    "heredoc-script": b"capture before\ncat > /dev/null <<'EOF'\ncapture inside\nEOF\ncapture after",
}


@pytest.mark.parametrize("name", SNIPPETS)
def test_words_are_what_bash_makes_of_them(name: str) -> None:
    """Every snippet here is known through and through, so each word must be bash's."""
    ours = [[text.raw for text in argv] for argv in captured(SNIPPETS[name])]
    assert ours == by_bash(SNIPPETS[name])


PIECES = st.sampled_from(
    [
        b"$A",
        b'"$A"',
        b"${B}",
        b"'q r'",
        b"x",
        b"${A%?}",
        b"${B:-d}",
        b"$((N+1))",
        b"${L[1]}",
        b'"${L[@]}"',
        b"\\ ",
        b"${#A}",
        b"$(echo $N)",
        b"${A/o/0}",
        b"-",
        b"=",
    ]  # fmt: skip
)


@settings(max_examples=60, deadline=None)
@given(st.lists(st.lists(PIECES, min_size=1, max_size=4), min_size=1, max_size=12))
def test_known_words_are_never_wrong(shapes: list[list[bytes]]) -> None:
    """However the pieces are glued: what Maple says it knows is what bash says."""
    source = b"A='foo bar'; B=; N=6; L=(p 'q s' r)\n" + b"\n".join(b"capture " + b"".join(shape) for shape in shapes)
    for ours, theirs in zip(captured(source), by_bash(source), strict=True):
        if all(text.known for text in ours):
            assert [text.raw for text in ours] == theirs


def test_what_only_the_job_knows_stays_unknown() -> None:
    """A command's output, an unread file and a user's variable are never guessed."""
    words = captured(b'capture $(date) "$(cat /proc/nowhere)" $RANDOM; source ./unread.sh; X=1; capture $Y $X')
    assert [text.known for text in words[0]] == [False, False, False]
    assert [text.known for text in words[1]] == [False, True]


def test_branches_that_may_or_may_not_be_taken_leave_only_what_they_agree_on() -> None:
    """A variable that only one branch sets is unknown afterwards, one that both set alike is known."""
    source = b'A=1; if [ -f x ]; then A=2; B=3; else B=3; fi; capture "$A" "$B"'
    first, second = captured(source)[0]
    assert (first.known, second.raw) == (False, b"3")


def test_a_value_remembers_where_it_stands() -> None:
    """A word out of a variable points at the assignment, and at its use."""
    source = b"N=48; capture --n=$N"
    word = captured(source)[0][0]
    assert word.slice(4).span() == (2, 4)
    assert word.slice(4).written() == (source.index(b"$N"), len(source))


@given(st.text("ab.*?[]", max_size=6), st.text("abc.*[", max_size=8), st.sampled_from(["#", "##", "%", "%%"]))
@settings(max_examples=600, deadline=None)
def test_what_is_cut_off_is_what_matches(pattern: str, value: str, op: str) -> None:
    """The shortest prefix or suffix, or the longest, tried one after the other."""
    raw, lengths = value.encode(), range(len(value) + 1)
    fits = [
        size for size in lengths if matches(raw[:size] if op[0] == "#" else raw[len(raw) - size :], pattern.encode())
    ]
    gone = (min if len(op) == 1 else max)(fits, default=0)
    left = (gone, len(raw)) if op[0] == "#" else (0, len(raw) - gone)
    assert _trim(op.encode(), raw, pattern.encode()) == left
