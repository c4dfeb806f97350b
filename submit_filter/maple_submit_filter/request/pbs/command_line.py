"""Which word of qsub's command line is the script, and when to leave it alone. `front/words_qsub.c` does the same."""

from __future__ import annotations

from typing import List, NamedTuple, Optional, Sequence, Tuple

from ..slurm.command_line import Words

# getopt's letters of OpenPBS 23.06, where options end at the first word that is none; a colon: the letter has a value.
OPTIONS = b"a:A:c:C:e:fhIj:J:k:l:m:M:N:o:p:q:r:R:S:u:v:VW:XzP:"
LEAVING = b"Iu"  # no script is submitted, or in another's name


class Letters(NamedTuple):
    """*said*: letters with their values (b"" for none), in order. *end*: the first word behind the options.

    *problem*: qsub answers the words with its usage, or takes them for something else (`--version`).
    *executable*: `--` ended the options, so a program follows and no script.
    """

    said: Tuple[Tuple[bytes, bytes], ...]
    end: int
    problem: bool = False
    executable: bool = False


def read_letters(argv: Sequence[bytes]) -> Letters:
    """Return the options of qsub's command line, argv[0] included and passed over."""
    said: List[Tuple[bytes, bytes]] = []
    at = 1
    while at < len(argv) and argv[at][:1] == b"-" and argv[at] != b"-":
        if argv[at] == b"--":
            return Letters(tuple(said), at + 1, executable=True)
        word, at = argv[at], at + 1
        for index in range(1, len(word)):
            letter = word[index : index + 1]
            if letter == b":" or letter not in OPTIONS:
                return Letters(tuple(said), at, problem=True)
            if OPTIONS[OPTIONS.index(letter) + 1 : OPTIONS.index(letter) + 2] != b":":
                said.append((letter, b""))
                continue
            value = word[index + 1 :]
            if not value and at == len(argv):
                return Letters(tuple(said), at, problem=True)
            said.append((letter, value or argv[at]))
            at += not value
            break
    return Letters(tuple(said), at)


def read(argv: Sequence[bytes]) -> Optional[Words]:
    """Return what the words say of the script, None where the submission is better left alone."""
    letters = read_letters(argv)
    operands = argv[letters.end :]
    if not argv or letters.problem or letters.executable or len(operands) > 1:
        return None
    if any(letter in LEAVING for letter, _ in letters.said) or (operands and not operands[0]):
        return None
    if argv[letters.end - 1] == b"--":  # a value: qsub may take it for the end of the options
        return None
    if not operands or operands[0] == b"-":
        return Words("stdin", as_named=True)
    return Words("file", letters.end, as_named=True)
