"""A script of which a part was read before reads as it would from nothing."""

from __future__ import annotations

import random
import re

import pytest
from maple_submit_filter.bash import rereading
from maple_submit_filter.bash.parser import parse

from tests.bench.scripts import script
from tests.submit_filter.test_worlds_kept_everywhere import everything

PIECES = (
    b"", b"\n", b"'", b'"', b"$(", b")", b"((", b"<<EOF\n", b"EOF\n", b"#", b"\\\n", b";", b";;", b"fi\n", b"{", b"}",
    b"x", b"123", b"`", b"&&", b" ", b"$((", b"if ", b"then", b"&", b"|", b"# it's\n", b"<<-'E'\n", b"${", b"esac",
)  # fmt: skip
SCRIPTS = [one.script or b"" for _, one, _, _ in everything()]
SCRIPTS = [one for one in dict.fromkeys(SCRIPTS) if rereading.LEAST <= len(one) < 20_000]


@pytest.fixture(autouse=True)
def nothing_known():
    """No test knows what another has read."""
    rereading._recent.clear()


def changed(source: bytes, chance: random.Random) -> bytes:
    """Return the script with another number in it, or with something that begins or ends anything else."""
    numbers = list(re.finditer(rb"\d+", source))
    if numbers and chance.random() < 0.3:
        found = chance.choice(numbers)
        return source[: found.start()] + b"%d" % chance.randrange(200) + source[found.end() :]
    at = chance.randrange(len(source))
    new = b"".join(chance.choices(PIECES, k=chance.choice((1, 1, 2))))
    return source[:at] + new + source[at + chance.choice((0, 0, 1, 2, 5, 30)) :]


@pytest.mark.parametrize("seed", range(4))
def test_it_reads_as_from_nothing(seed: int) -> None:
    """Whatever changes where, several times in a row; and what is remembered of it is the same."""
    chance, taken_over = random.Random(seed), 0
    for source in chance.choices(SCRIPTS, k=120):
        rereading._recent.clear()
        parse(source)
        for _ in range(3):
            source = changed(source, chance)
            reuse = rereading.reusable(source)
            taken_over += reuse is not None
            read, known = parse(source), rereading.recall(source)
            before = rereading._recent[:]
            rereading._recent.clear()
            assert parse(source) == read, source
            assert rereading.recall(source) == known or len(source) < rereading.LEAST
            rereading._recent[:] = before
    assert taken_over > 300


@pytest.mark.parametrize("seed", range(2))
def test_what_went_on_behind_an_end_reads_as_from_nothing(seed: int) -> None:
    """The last command of what was read may be the beginning of a longer one, or of a line that goes on."""
    chance, taken_over = random.Random(seed), 0
    for source in chance.choices(SCRIPTS, k=120):
        at = chance.randrange(rereading.LEAST, len(source) + 1)
        for longer in (source, source[:at] + chance.choice((b"x", b" --more\n", b"\n", b"; srun y", b"&& z", b"# w"))):
            rereading._recent.clear()
            parse(source[:at])
            taken_over += rereading.reusable(longer) is not None
            read = parse(longer)
            rereading._recent.clear()
            assert parse(longer) == read, longer
    assert taken_over > 100


def test_what_did_not_change_is_not_read() -> None:
    """Of 200 lines with another word in the middle, a handful of commands is read."""
    source = script(200)
    before = parse(source).items
    after = parse(source.replace(b"step 82 ", b"stage 82 ")).items
    assert len(before) == len(after) > 100
    assert isinstance(after, rereading.Items)
    assert sum(type(item) is rereading.Later for item in after.all) > 30
    assert sum(old is new for old, new in zip(before, after)) > 30


def test_several_changes_leave_what_is_between() -> None:
    """A directive's and the launch line's, as most repairs have them."""
    source = script(200)
    parse(source)
    other = source.replace(b"--ntasks-per-node=1", b"--ntasks-per-node=16").replace(
        b"srun torchrun", b"srun -n 2 torchrun"
    )
    items = parse(other).items
    assert isinstance(items, rereading.Items)
    assert sum(type(item) is not rereading.Later for item in items.all) < 4
    rereading._recent.clear()
    assert parse(other).items == items and items == parse(other).items


def test_commands_that_are_put_in_their_place_late_are_as_others() -> None:
    """However one looks at them."""
    source = script(60)
    parse(source)
    late, again = parse(source.replace(b"bench", b"benches")).items, parse(source.replace(b"bench", b"benched!")).items
    rereading._recent.clear()
    items = parse(source.replace(b"bench", b"benches")).items
    assert isinstance(late, rereading.Items) and isinstance(again, rereading.Items) and type(items) is tuple
    assert late[3] == items[3] and late[-1] == items[-1] and late[2:5] == items[2:5]
    assert items[1] in late and list(reversed(late)) == list(reversed(items)) and (*late,) == items
    assert late == items and items == late and hash(late) == hash(items) and len(late) == len(items)
    assert late != again and late + items == items + items


def test_what_cannot_be_read_is_never_taken_over() -> None:
    """A quote that is not closed takes all that is behind it, and what closes it may come later."""
    source = script(60) + b"echo 'open\n"
    parse(source)
    assert rereading._recent == []


def test_little_is_kept() -> None:
    """The service reads scripts all day long."""
    for number in range(20):
        parse(script(60) + b"echo %d\n" % number)
    assert len(rereading._recent) < 5
    parse(b"echo x\n" * rereading.MOST)
    assert len(rereading._recent[0].source) < rereading.MOST
