"""Which lines of a file are looked at: its beginning and its end, and whatever stands near a telling word.

A block with few hits is taken line by line. Where hits come thick, lines are told apart by a fingerprint that numbers
do not change, for all lines at once; what was seen often is only counted. A literal that stands on very many lines that
are not alike is worn: it tells nothing any more in this file, but for its ends and for samples.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import deque
from dataclasses import dataclass, field
from itertools import compress

from .limits import Limits
from .literals import Literals, Search, Sort
from .progress import drawn
from .units.prefixes import Speaker, last_rows, numbered, ranks, speaker
from .units.voices import Kept, More, Rows, fingerprint, heavy_parts, rows

THICK = 200  # hits in a block
SAMPLES = 4  # lines of a block by which the unseen ones are judged
LATE = 1000  # lines kept of what comes after a file's share is used up
KNOWN = 200_000  # fingerprints remembered
AROUND = 5  # lines that are alike of those that only stand beside a word
AFTER = {Sort.WORD: 3, Sort.FRAME: 3, Sort.OPENS: 6, Sort.ANCHOR: 3}


@dataclass
class Chosen:
    """Chooses lines block by block; `lines` gives them when all blocks are through."""

    search: Search
    limits: Limits
    total: int = 0  # lines seen
    more: dict[int, More] = field(default_factory=dict)
    samples: list[Kept] = field(default_factory=list)
    ranked: dict[int, int] = field(default_factory=dict)  # `[rank3]`: the last line of each
    numbered: dict[int, int] = field(default_factory=dict)  # `3: `, if that is a label here
    _kept: dict[int, Kept] = field(default_factory=dict)
    _late: deque[Kept] = field(default_factory=lambda: deque(maxlen=LATE))
    _seen: dict[int, int] = field(default_factory=dict)
    _sorts: dict[int, Hit | None] = field(default_factory=dict)
    _bytes: int = 0
    _wearing: Wearing = field(init=False)
    _speaker: Speaker | None = None
    _repeats: bool = False
    _recent: deque[tuple[Rows, dict[int, int]]] = field(default_factory=lambda: deque(maxlen=2))

    def __post_init__(self) -> None:
        self._wearing = Wearing(self.search)

    @property
    def worn(self) -> set[int]:
        """The literals that stand on too many different lines."""
        return self._wearing.worn

    def block(self, data: bytes, skipped: int = 0) -> None:
        """Look at the next block; *skipped* lines before it were not read."""
        self.total += skipped
        here = rows(data, self.total + 1)
        self._recent.append((here, {}))
        self._listen(here)
        if here.first <= self.limits.head:
            self._region(here, range(min(len(here), self.limits.head + 1 - here.first)))
        if not (self._repeats and self._repeated(here)):
            self._searched(here)
        self._sample(here)
        self.total += len(here)

    def _listen(self, here: Rows) -> None:
        """Note where each rank was heard last."""
        self._speaker = speaker(here.data, here.lines)
        if self._speaker is not None:
            heard = self.numbered if self._speaker is numbered else self.ranked
            last = last_rows(here.lines, self._speaker)
            heard.update((rank, here.first + row) for rank, row in last.items())

    def lines(self) -> list[Kept]:
        """Return the chosen lines in order, those at the end of the file among them."""
        left = self.limits.tail
        for here, dropped in reversed(self._recent):
            took = min(left, len(here))
            for row in range(len(here) - took, len(here)):
                if (key := dropped.pop(here.first + row, None)) is not None:
                    self.more[key].count -= 1
            self._region(here, range(len(here) - 1, len(here) - took - 1, -1))
            left -= took
        self._recent.clear()
        for kept in self._late:
            self._kept.setdefault(kept.number, kept)
        return [self._kept[number] for number in sorted(self._kept)]

    def _region(self, here: Rows, wanted: range) -> None:
        """Keep all *wanted* rows, within the bytes that an end of a file may have."""
        left = self.limits.ends
        for row in wanted:
            raw = self._cut(here.lines[row])
            left -= len(raw)
            if left < 0:
                break
            number = here.first + row
            line = here.lines[row]
            self._kept[number] = Kept(number, raw, self.search.sort(raw.lower()), fingerprint(line), drawn(line))

    def _searched(self, here: Rows) -> None:
        """Look at the rows in which a literal stands."""
        places = self._wearing(here.data.lower())
        hits = self._hits(here, places)
        if len(hits) <= THICK:
            for row in sorted(hits):
                self._near(here, row, hits)
            return
        self._repeats = len(set(heavy_parts(here))) < len(here) // 8
        groups: dict[int, list[int]] = {}
        for row in sorted(hits):
            groups.setdefault(fingerprint(here.lines[row]), []).append(row)
        self._groups(here, groups, {key: hits[members[0]] for key, members in groups.items()})

    def _hits(self, here: Rows, literals: Literals) -> dict[int, Hit]:
        """Return the strongest literal of each row that has one."""
        hits: dict[int, Hit] = {}
        sorts = self._wearing.sorts
        row = before = 0
        for literal, start, _ in literals:
            row += here.data.count(b"\n", before, start)
            before = start
            if row not in hits or hits[row][0] < sorts[literal]:
                hits[row] = (sorts[literal], literal)
        return hits

    def _repeated(self, here: Rows) -> bool:
        """Look at rows by their fingerprints alone. Return False, and do nothing, where most of them are new."""
        heavy = heavy_parts(here)
        distinct = {text: hash(text) for text in set(heavy)}
        if len(self._sorts) >= KNOWN:
            self._sorts.clear()
        unknown = [text for text, key in distinct.items() if key not in self._sorts]
        if len(unknown) > THICK:
            self._repeats = False
            return False
        for text in unknown:
            self._sorts[distinct[text]] = self._wearing.hit(here.lines[heavy.index(text)])
        hits = {key: hit for key in distinct.values() if (hit := self._sorts.get(key)) is not None}
        bad = {text for text, key in distinct.items() if key in hits}
        groups: dict[int, list[int]] = {}
        for row in compress(range(len(heavy)), map(bad.__contains__, heavy)):
            groups.setdefault(distinct[heavy[row]], []).append(row)
        self._groups(here, groups, hits)
        return True

    def _groups(self, here: Rows, groups: dict[int, list[int]], hits: dict[int, Hit]) -> None:
        """Keep some rows of each fingerprint, and count the others."""
        near: dict[int, Hit] = {}
        copies = self.limits.copies if len(self._kept) < self.limits.kept else 1
        for key, members in groups.items():
            left = max(0, copies - self._seen.get(key, 0))
            if self._is_worn(hits[key], len(members), new=left > 0 and not self._seen.get(key)):
                continue
            near.update(dict.fromkeys(members[:left], hits[key]))
            if left < len(members):
                self._count(here, key, hits[key][0], members[left:])
        for row in sorted(near):
            self._near(here, row, near)

    def _is_worn(self, hit: Hit, count: int, new: bool) -> bool:
        """Return whether to pass over *count* lines alike with this literal; what was known of it is then forgotten."""
        before = len(self.worn)
        if new:
            self._wearing.wears(hit)
        worn = hit[1] in self.worn or self._wearing.is_everyday(hit[1], count)
        if len(self.worn) > before:
            self._sorts.clear()
            self._repeats = False
        return worn

    def _near(self, here: Rows, row: int, hits: dict[int, Hit]) -> None:
        """Keep a hit, the line before it and some behind."""
        sort = hits[row][0]
        if len(self._kept) >= self.limits.kept:
            self._keep(here, row, sort, self.limits.copies)
            return
        around = self.limits.copies if sort in (Sort.FRAME, Sort.OPENS) else AROUND
        for other in range(max(0, row - 1), min(len(here), row + AFTER[sort] + 1)):
            if other == row:
                self._keep(here, row, sort, self.limits.copies)
            elif other not in hits:
                self._keep(here, other, None, around)

    def _keep(self, here: Rows, row: int, sort: Sort | None, copies: int) -> None:
        number = here.first + row
        known = self._kept.get(number)
        if known is not None and (sort is None or known.sort is not None):
            return
        raw = self._cut(here.lines[row])
        key = fingerprint(here.lines[row])
        seen = self._seen.get(key, 0)
        if seen >= copies:
            if sort is not None:
                self._count(here, key, sort, [row])
            return
        if seen or len(self._seen) < KNOWN:
            self._seen[key] = seen + 1
        self._store(Kept(number, raw, sort, key, drawn(here.lines[row])))

    def _store(self, kept: Kept) -> None:
        self._bytes += len(kept.raw)
        if len(self._kept) < self.limits.kept and self._bytes < self.limits.bytes:
            self._kept[kept.number] = kept
        else:
            self._late.append(kept)

    def _count(self, here: Rows, key: int, sort: Sort, members: list[int]) -> None:
        if here.first <= self.limits.head:  # those at the beginning are kept already
            members = [row for row in members if here.first + row not in self._kept]
        if not members or sort == Sort.FRAME or key not in self.more and len(self.more) >= KNOWN:
            return
        more = self.more.setdefault(key, More())
        more.count += len(members)
        more.last = here.first + members[-1]
        if self._speaker is not None:
            more.ranks |= ranks([here.lines[row] for row in members], self._speaker)
        late = bisect_left(members, len(here) - self.limits.tail)
        self._recent[-1][1].update((here.first + row, key) for row in members[late:])

    def _sample(self, here: Rows) -> None:
        count = len(here)
        for row in {count * part // SAMPLES for part in range(SAMPLES)} if count else ():
            if here.first + row not in self._kept:
                raw = self._cut(here.lines[row])
                sort = self.search.sort(raw.lower()) if self.worn else None
                self.samples.append(Kept(here.first + row, raw, sort, 0))

    def _cut(self, raw: bytes) -> bytes:
        """Return the last state of a line that was drawn again and again, and no more of it than is looked at."""
        if len(raw) > self.limits.raw:
            raw = raw.rstrip(b"\r")
            raw = raw[raw.rfind(b"\r") + 1 :][: self.limits.raw + 1]
        return raw


# Literals that stand on very many lines that are not alike: they tell nothing any more in this file.

OFTEN = 20_000  # lines with one short anchor
WORN = {Sort.WORD: 400, Sort.ANCHOR: 1000, Sort.FRAME: 8000, Sort.OPENS: 8000}  # different lines with one literal
Hit = tuple[Sort, int]  # of a literal: its sort and its number


class Wearing:
    """A search that forgets the literals that are worn. *worn*: their numbers."""

    def __init__(self, search: Search) -> None:
        self.worn: set[int] = set()
        self._search = self._now = search
        self._often: dict[int, int] = {}
        self._different: dict[int, int] = {}

    def __call__(self, small: bytes) -> Literals:
        return self._now(small)

    def hit(self, line: bytes) -> Hit | None:
        """Return the strongest literal of *line*."""
        return max(((self.sorts[number], number) for number, _, _ in self._now(line.lower())), default=None)

    @property
    def sorts(self) -> tuple[Sort, ...]:
        return self._search.sorts

    def wears(self, hit: Hit) -> None:
        """Count one more line unlike all others with this literal: with too many of them it is worn."""
        sort, literal = hit
        self._different[literal] = self._different.get(literal, 0) + 1
        if self._different[literal] == WORN[sort] // (4 if self._search.is_short(literal) else 1):
            self._forget(literal)

    def is_everyday(self, literal: int, count: int) -> bool:
        """Count *count* lines more; return whether a short anchor is but a word of every day by them, as "loss"."""
        if not self._search.is_short(literal):
            return False
        self._often[literal] = self._often.get(literal, 0) + count
        if self._often[literal] < OFTEN:
            return False
        self._forget(literal)
        return True

    def _forget(self, literal: int) -> None:
        self.worn |= self._search.inside(literal)
        self._now = self._search.without(self.worn)
