"""What is a repair that a service of its own account may say, over whole small domains, against a second reading.

The reading goes by the promise at the head of bounds.c and by other means: regular expressions, and a search over all
ways to leave out words. Where the two differ one of them is wrong.
"""

from __future__ import annotations

import hashlib
import itertools
import random
import re
from collections.abc import Iterator
from functools import lru_cache

from tests.submit_filter.front_parts import Row, words_of, wrong

LISTED = words_of("SERVICE_WORDS")
DASHES = re.compile(rb"-*")
NUMBER = re.compile(rb"-*(?:[A-Za-z]?\d+[A-Za-z]?|[A-Za-z]|)")
TOKEN = re.compile(rb"[A-Za-z0-9_\-./~%@+]+|.", re.DOTALL)
SOFT = b" \t=,:\"'${}()|"
WORDS = [b"", b"srun", b"-n", b"8", b"rm", b"a+b.py", b";", b"<", b"$x", b"#SBATCH ", b"#PBS ", b"#"]


def test_a_program_of_two_letters_is_no_word_of_a_repair() -> None:
    """Many a program has such a name (rm, sh, dd), and paths that it could be given stand in the line."""
    assert _repaired(b"srun -n 8 a.py", b"srun --ntasks=4 a.py")
    assert not _repaired(b"srun python -r /s", b"rm -r /s")
    pairs: dict[Row, object] = {(b"srun python -r /s", b"srun -r /s"): 1, (b"srun python -r /s", b"rm -r /s"): 0}
    assert wrong("bounded", pairs) == []


def test_each_short_line_is_a_repair_of_another_or_none() -> None:
    """Every pair of lines of two words, and lines of four of which some words are others."""
    lines, chance = sorted({b" ".join(words) for words in itertools.product(WORDS, repeat=2)} - {b""}), random.Random(1)
    pairs = [*itertools.product(lines, repeat=2), *(_changed(chance) for _ in range(5000))]
    assert wrong("bounded", {(was, now): int(_repaired(was, now)) for was, now in pairs if was != now}) == []


def test_each_word_is_a_repair_s_or_none() -> None:
    """Every word of up to three of some letters, signs and digits, and every listed one with and without dashes."""
    made = [bytes(word) for size in (1, 2, 3) for word in itertools.product(b'ab7-_.;= #"|\xe9', repeat=size)]
    made += [
        dashes + word + end for word in sorted(LISTED) for dashes in (b"", b"-", b"--") for end in (b"", b"x", b"=4")
    ]
    expected: dict[Row, object] = {(b"is", word): int(_repaired(b"", word)) for word in made}
    assert wrong("word", {**expected, (b"is", b"is"): 1}) == []


def test_a_changed_line_has_a_greatest_length_and_changed_lines_a_greatest_number() -> None:
    """A line of 1,024 bytes, and 64 of them; none is lost."""
    line, script = b"srun " + b"x" * 1015, b"srun -n 8 a\n" * 65
    expected: dict[Row, object] = {
        (line, line + b" -n8"): 1,
        (line, line + b" -n 8"): 0,
        (line + b" -n8", line): 1,
        (line + b" -n 8", line): 0,
        (script, script.replace(b"8", b"4", 64)): 1,
        (script, script.replace(b"8", b"4", 65)): 0,
        (script, script[:-12]): 0,
    }
    assert wrong("bounded", expected) == []


def test_behind_the_script_stands_its_own_closing_comment_alone() -> None:
    """It begins as one, names the hash of this script, and is a line of fewer than 1,024 bytes."""
    script, head = b"srun -n 8 a\n", b"# maple: repaired ("
    digest = hashlib.sha256(script).hexdigest().encode()
    closing = head + digest
    good = (closing, closing + b"\n", closing.ljust(1023, b"."))
    bad = (closing[:-1], closing.ljust(1024, b"."), b" " + closing, closing + b"\nx", closing + b"\n\n", b"x", digest)
    expected: dict[Row, object] = {(script, script + end): int(end in good) for end in (*good, *bad)}
    assert wrong("bounded", expected) == []


def _changed(chance: random.Random) -> Row:
    """Draw a line of four words, and the same with another word or two."""
    was = chance.choices(WORDS, k=4)
    now = [*was]
    for _ in range(chance.randint(1, 2)):
        now[chance.randrange(4)] = chance.choice(WORDS)
    return b" ".join(was), b" ".join(now)


def _repaired(was: bytes, now: bytes) -> bool:
    """Return whether a line may be a repair of the other: its own stays, but for words of a launch or a directive."""
    directives = [line.startswith((b"#SBATCH ", b"#PBS ")) for line in (was, now)]
    if directives[0] and now.startswith(b"##"):
        return True
    now = now.removeprefix(b'cd "$PBS_O_WORKDIR" && ')
    if max(len(was), len(now)) > 1024:
        return False
    loses = all(directives) or any(_is_listed(token) for token in TOKEN.findall(was))
    before, after = (list(_own(line, all(directives))) for line in (was, now))

    @lru_cache(None)
    def ends(at: int, to: int) -> bool:
        if at == len(before):
            return to == len(after)
        stays = to < len(after) and before[at] == after[to] and ends(at + 1, to + 1)
        return stays or (loses and _is_word(before[at]) and ends(at + 1, to))

    return ends(0, 0)


def _own(line: bytes, directive: bool) -> Iterator[bytes]:
    """Yield the words and signs of a line that a repair neither brings nor takes."""
    for token in TOKEN.findall(line):
        if _is_word(token) and not _is_listed(token) and NUMBER.fullmatch(token) is None:
            yield token
        if not _is_word(token) and not directive and token not in SOFT:
            yield token


def _is_listed(token: bytes) -> bool:
    return DASHES.sub(b"", token, count=1) in LISTED


def _is_word(token: bytes) -> bool:
    return re.match(rb"[A-Za-z0-9_\-./~%@+]", token) is not None
