"""The shell reader against other readers, on the scripts of this machine."""

from __future__ import annotations

import pytest
from maple_submit_filter.bash import nodes as shell
from maple_submit_filter.bash.parser import parse

from tests.submit_filter.shell_judges import bash_takes, commands_of_the_other_parser, scripts
from tests.submit_filter.shell_trees import broken, nodes, uncovered

CORPUS = scripts(150)


def word_spans(source: bytes) -> "dict[int, tuple[tuple[int, int], ...]]":
    """Return the word spans of each simple command, by the offset of its first word."""
    simple = (node for node, _ in nodes(parse(source)) if isinstance(node, shell.Simple))
    return {one.words[0].span.start: tuple(tuple(word.span) for word in one.words) for one in simple if one.words}


def test_there_are_scripts_to_judge():
    assert len(CORPUS) >= 60


@pytest.mark.parametrize("path, source", CORPUS, ids=[path for path, _ in CORPUS])
def test_what_bash_takes_is_read_whole(path, source):
    unread = shell.unread(parse(source))
    assert unread == () or not bash_takes(source)
    assert broken(source) == ""
    assert unread or uncovered(source) == []


def test_simple_commands_are_those_of_the_other_parser():
    """The other parser counts words behind a redirection to the redirection, and errs in a few scripts itself."""
    judged, differing = 0, []
    for path, source in CORPUS:
        ours = word_spans(source)
        for start, theirs in commands_of_the_other_parser(source).items():
            judged += 1
            if ours.get(start, ())[: len(theirs)] != theirs:
                differing.append((path, source.count(b"\n", 0, start) + 1))
    print("%d commands, %d differ" % (judged, len(differing)))
    assert judged > 2000
    assert len(differing) <= 0.005 * judged, differing


@pytest.mark.parametrize("path, source", CORPUS[::10], ids=[path for path, _ in CORPUS[::10]])
def test_cut_anywhere_a_script_is_still_read_without_an_exception(path, source):
    for cut in range(0, len(source), max(1, len(source) // 40)):
        assert broken(source[:cut]) == ""
