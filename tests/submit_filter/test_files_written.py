"""What a script writes to files is known as bash would leave it, or it is not known."""

from __future__ import annotations

import subprocess

import pytest
from maple_submit_filter.types.text import Text

from tests.submit_filter.played import captured

KNOWN = {
    "a list of twenty": b"for i in $(seq 1 20); do echo $i >> f; done",
    "its output as a whole": b"echo old > f; for i in 1 2 3; do echo $i; done > f",
    "added to as a whole": b"echo old > f; for i in 1 2 3; do echo $i; done >> f",
    "tee adds": b"echo a > f; echo b | tee -a f > /dev/null",
    "tee, its file in a variable": b"F=f; echo a > f; echo b | tee -a $F",
    "removed before": b"echo a > f; rm -f f; echo b >> f",
    "its folder removed before": b"mkdir d; echo a > d/f; rm -r d; mkdir d; echo b >> d/f; cp d/f f",
    "both branches write the same": b'if [ -n "$X" ]; then echo a > f; else echo a > f; fi',
}
UNKNOWN = {
    "counted by while": b"i=1; while [ $i -le 20 ]; do echo $i >> f; i=$((i+1)); done",
    "counted by let": b"i=1; while [[ $i -le 20 ]]; do echo $i >> f; let i=i+1; done",
    "counted by until": b"i=1; until [ $i -gt 20 ]; do echo $i >> f; ((i++)); done",
    "by a function": b"add() { echo $1 >> f; }; i=0; while [ $i -lt 20 ]; do add $i; i=$((i+1)); done",
    "while, its output as a whole": b"echo old > f; i=0; while [ $i -lt 9 ]; do echo $i; i=$((i+1)); done > f",
    "more rounds than are played": b"for i in $(seq 1 20); do [ -d /$i ] || echo $i >> f; done",
    "the last of more rounds": b"for i in $(seq 1 20); do true; echo $i > f; test -e $i; done",
    "left in between": b'for i in 1 2 3 4; do echo $i >> f; [ "$i" = "$(hostname)" ] && break; done',
    "two branches": b"if ls /proc/1/mem > /dev/null; then echo a > f; else echo b > f; fi",
    "a branch in a branch": b"echo a > f; if [ -d /no ]; then [ -d /n ] && echo b >> f; echo c >> f; fi",
    "a program in a branch": b"echo a > f; if [ -d /no ]; then uname > g; fi; [ -d / ] && uname > f",
    "perhaps added to": b"echo a > f; [ -d /nowhere ] && echo b >> f",
    "an arm of case": b"echo a > f; case $(uname -m) in x86_64|aarch64) echo b >> f ;; *) echo c > f ;; esac",
    "a pattern removed": b"echo a > f1; rm -f f*; echo b >> f1; cp f1 f",
    "tee of a program": b"echo a > f; uname | tee -a f > /dev/null",
}


@pytest.mark.parametrize("source", KNOWN.values(), ids=KNOWN)
def test_what_only_prints_is_known_to_the_last_line(source, tmp_path):
    """The words of a file are those that bash leaves in it."""
    (words,) = captured(source + b"\ncapture $(cat f)\n")
    assert not any(word.open for word in words)
    assert [word.raw for word in words] == left(source, tmp_path)


@pytest.mark.parametrize("source", UNKNOWN.values(), ids=UNKNOWN)
def test_what_may_go_another_way_is_not_taken_for_known(source, tmp_path):
    """No literal words are held for the file's content, whatever bash leaves in it."""
    (words,) = captured(source + b"\ncapture $(cat f)\n")
    assert left(source, tmp_path)
    assert any(unknown(word) for word in words)


def left(source: bytes, folder) -> list[bytes]:
    """Return the words that bash leaves in the file."""
    subprocess.run(["bash", "--norc"], input=source, cwd=folder, timeout=20, check=False, capture_output=True)
    return (folder / "f").read_bytes().split()


def unknown(word: Text) -> bool:
    """Return whether a word stands for something that is not known."""
    return word.open or not word.literal
