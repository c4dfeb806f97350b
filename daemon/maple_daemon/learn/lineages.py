"""What users' earlier jobs came to, in memory: which lineage a submission is of, and how its changes stand.

Only users of whom something is known to be good or taken back are held. Before it is known for sure which version a
submission is (`looking`), its lineage is told as `versions` tells it, but for similarity: the same script, path and job
name, or given name and work dir. Where two lineages could be meant, nothing is known. Of a script whose job name would
take long to read, the path alone tells what was taken back: then a change is left out that might be made, no more.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Hashable, Iterable, Sequence

from maple_submit_filter.answer import reply
from maple_submit_filter.answer.earlier import Earlier, Good
from maple_submit_filter.host.frames import Request
from maple_submit_filter.types.job_records import Version
from maple_submit_filter.types.submission import Submission

from ..base.log import cause, log
from ..remember.description import Place, path_of, place_of
from ..store.protocol import Known
from .outcome_of_change import Standing

MOST_READ, MOST_COMMENTS = 16 << 10, 100  # bytes, lines with #: a job's name is read in a millisecond or two
MOST_VERSIONS = 300  # of a user, the newest: as many as `looking` compares with


class User:
    """*lineages*: by what a submission shows; "" for what several show."""

    def __init__(self) -> None:
        self.standings: dict[str, dict[str, Standing]] = {}  # by lineage, by change
        self.earlier: dict[str, Earlier] = {}  # the same, as answers take it
        self.lineages: dict[Hashable, str] = {}

    def show(self, version: Version) -> None:
        """Take down by what submissions of a version's lineage are known."""
        for one in _shown_by(version):
            self.lineages[one] = version.lineage if self.lineages.get(one, version.lineage) == version.lineage else ""


class Learned:
    """*revision*: of the rules and the site that decide now."""

    def __init__(self, revision: Callable[[], bytes]) -> None:
        self._revision = revision
        self._users: dict[int, User] = {}

    def of(self, request: Request, uid: int) -> Earlier | None:
        """Return what is known of the changes of this submission's lineage, None for nothing. Raises nothing."""
        user = self._users.get(uid)
        if user is None:
            return None
        try:
            return self._of(request, user)
        except Exception as error:  # an answer does not depend on what was learnt
            log().error("not known what was learnt", why=cause(error))
            return None

    def _of(self, request: Request, user: User) -> Earlier | None:
        whole = reply.whole(request.submission)
        found = user.earlier.get(_lineage(whole, user))
        if found is None and _is_long(whole):
            found = user.earlier.get(user.lineages.get(("file", whole.scheduler, path_of(whole)), ""))
            return found._replace(good={}) if found is not None else None
        return found._replace(revision=self._revision()) if found is not None else None

    def is_new(self, known: Known) -> bool:
        """Return whether that is not held yet."""
        user = self._users.get(known.uid)
        held = user.standings.get(known.lineage, {}).get(known.change) if user is not None else None
        return held is None or held.written() != known.told

    def learn(self, uid: int, known: Iterable[Known], versions: Sequence[Version]) -> None:
        """Hold how a user's changes stand now. *versions*: of his, the newest first."""
        user = self._users.setdefault(uid, User())
        for one in known:
            standing = Standing.read(one.told)
            user.standings.setdefault(one.lineage, {})[one.change] = standing
            user.earlier[one.lineage] = _earlier(user.standings[one.lineage])
        for version in versions[:MOST_VERSIONS]:
            user.show(version)

    def version(self, version: Version) -> None:
        """Take notice of a new version."""
        user = self._users.get(version.uid)
        if user is not None:
            user.show(version)

    def clear(self) -> None:
        """Forget everything."""
        self._users.clear()

    def __len__(self) -> int:
        return len(self._users)


def _lineage(whole: Submission, user: User) -> str:
    """Return the lineage, "" where it is not known. Reading the job's name takes longest, and comes last."""
    by_script = user.lineages.get(("script", whole.scheduler, hashlib.sha256(whole.script or b"").hexdigest()))
    if by_script is not None or _is_long(whole):
        return by_script or ""
    place = place_of(whole)
    for one in _of_place(whole.scheduler, place, place.named):
        if one in user.lineages:
            return user.lineages[one]
    return ""


def _is_long(whole: Submission) -> bool:
    script = whole.script or b""
    return len(script) > MOST_READ or script.count(b"\n#") + len(whole.argv) > MOST_COMMENTS


def _earlier(standings: dict[str, Standing]) -> Earlier:
    good = {change: Good(one.ran, one.grounds) for change, one in standings.items() if one.is_good}
    return Earlier(good, {change: one.failed for change, one in standings.items() if one.is_out})


def _shown_by(version: Version) -> list[Hashable]:
    place = Place(version.path, version.name, True, version.cwd)
    shown: list[Hashable] = [("script", version.scheduler, version.script_hash)]
    if version.path:
        shown.append(("file", version.scheduler, version.path))
    return shown + _of_place(version.scheduler, place, True)


def _of_place(scheduler: str, place: Place, named: bool) -> list[Hashable]:
    """Return by what a place is known, what says most first."""
    by_path: list[Hashable] = [("path", scheduler, place.path, place.name)] if place.path else []
    return by_path + ([("name", scheduler, place.name, place.cwd)] if named else [])
