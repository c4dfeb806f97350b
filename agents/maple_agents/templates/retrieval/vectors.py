"""Vectors kept by the hash of their text, so that no text is embedded twice; and the nearest of them.

One SQLite file for each embedder, rows of (hash of the text, vector, check sum). It is a cache: damaged, locked or on a
full disk, it is left aside and the vectors are made anew.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import sqlite3
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from maple_submit_filter.host import own_folders

from .passages import digest

if TYPE_CHECKING:
    from .passages import Embedder, Floats

PATIENCE = 2.0  # seconds to wait for another process that writes
MOST = 200_000  # rows kept, about 300 MB; the oldest go first
RECENT = 16  # texts remembered by a process
AT_ONCE = 500  # hashes in one SELECT; older SQLite allows 999


class Kept:
    """An `Embedder` that asks another one only for texts that no one has embedded yet on this machine."""

    def __init__(self, embedder: Embedder, path: str | None) -> None:
        """Keep vectors in the file at *path*, which may not be there yet; None: nothing is kept."""
        self._embedder = embedder
        self._path = path

    @property
    def name(self) -> str:
        """What made the vectors."""
        return self._embedder.name

    def vectors(self, texts: Sequence[str]) -> Floats:
        """Return a row for each text, as the embedder itself would. Raises `Unavailable` as it does."""
        import numpy as np

        names = [digest(text) for text in texts]
        known = _get(self._path, set(names)) if self._path else {}
        missing = {name: text for name, text in zip(names, texts) if name not in known}
        if missing or not texts:
            made = self._embedder.vectors(list(missing.values()))
            if not texts:
                return made
            fresh = {name: row.tobytes() for name, row in zip(missing, made)}
            if len({len(row) for row in (*known.values(), *fresh.values())}) > 1:
                known = {}  # another width under the same name: none of the kept rows can be trusted
                return self._embedder.vectors(texts)
            if self._path:
                _put(self._path, fresh)
            known |= fresh
        return np.frombuffer(b"".join(known[name] for name in names), np.float32).reshape(len(names), -1)


class Recent:
    """An `Embedder` that remembers the vectors of the last texts: one question goes to several indexes."""

    def __init__(self, embedder: Embedder) -> None:
        self._embedder = embedder
        self._rows: dict[str, Floats] = {}

    @property
    def name(self) -> str:
        """What made the vectors."""
        return self._embedder.name

    def vectors(self, texts: Sequence[str]) -> Floats:
        """Return a row for each text, as the embedder itself would. Raises `Unavailable` as it does."""
        if len(texts) != 1:
            return self._embedder.vectors(texts)
        if texts[0] not in self._rows:
            self._rows = {**dict(list(self._rows.items())[1 - RECENT :]), texts[0]: self._embedder.vectors(texts)}
        return self._rows[texts[0]]


def path_of(embedder: Embedder, environ: Mapping[str, str] = os.environ) -> str | None:
    """Return the file for the vectors of an embedder in the user's own cache folder, None where there is no home."""
    folder = cache_folder(environ)
    name = hashlib.sha256(embedder.name.encode("utf-8", "surrogatepass")).hexdigest()[:16]
    return os.path.join(folder, "vectors-%s.sqlite" % name) if folder else None


def cache_folder(environ: Mapping[str, str] = os.environ) -> str | None:
    """Return the user's own folder for what retrieval keeps, which may not be there yet; None without a home."""
    cache = own_folders.cache(environ)
    return os.path.join(cache, "retrieval") if cache else None


def nearest(rows: Floats, vector: Floats, k: int) -> list[tuple[int, float]]:
    """Return the *k* rows that are nearest to the vector *vector*, best first, each by number with its cosine."""
    import numpy as np

    alike = rows @ vector
    k = min(k, len(alike))
    some = np.argpartition(-alike, k - 1)[:k] if 0 < k < len(alike) else np.arange(len(alike))[:k]
    best: list[int] = sorted(some.tolist(), key=lambda number: (-float(alike[number]), number))
    return [(number, float(alike[number])) for number in best]


def _get(path: str, names: set[bytes]) -> dict[bytes, bytes]:
    """Return the vectors that are kept and whole. A file that is no database is taken away."""
    if not os.path.exists(path):
        return {}
    try:
        with _open(path) as rows:
            return dict(_whole(row) for row in _select(rows, sorted(names)) if _whole(row)[1])
    except sqlite3.OperationalError:
        return {}  # locked, or not to be read: as if there were none
    except sqlite3.DatabaseError:
        with contextlib.suppress(OSError):
            os.unlink(path)
        return {}


def _select(rows: sqlite3.Connection, names: Sequence[bytes]) -> Iterator[tuple[object, object, object]]:
    for at in range(0, len(names), AT_ONCE):
        some = names[at : at + AT_ONCE]
        marks = ",".join("?" * len(some))
        yield from rows.execute("SELECT text, vector, sum FROM vectors WHERE text IN (%s)" % marks, some)


def _whole(row: tuple[object, object, object]) -> tuple[bytes, bytes]:
    """Return hash and vector of a row, the vector empty where it is not what was written."""
    text, vector, total = row
    if not isinstance(text, bytes) or not isinstance(vector, bytes) or total != _sum(text, vector):
        return b"", b""
    return text, vector


def _sum(text: bytes, vector: bytes) -> int:
    return zlib.crc32(vector, zlib.crc32(text))


def _put(path: str, vectors: Mapping[bytes, bytes]) -> None:
    """Keep vectors; where that cannot be done they are made again another time."""
    with contextlib.suppress(OSError, sqlite3.Error):
        os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
        os.close(os.open(path, os.O_WRONLY | os.O_CREAT, 0o600))
        with _open(path) as rows:
            rows.execute("BEGIN IMMEDIATE")
            rows.execute(
                "CREATE TABLE IF NOT EXISTS vectors (id INTEGER PRIMARY KEY, text BLOB NOT NULL UNIQUE,"
                " vector BLOB NOT NULL, sum INTEGER NOT NULL)"
            )
            rows.executemany("INSERT OR REPLACE INTO vectors(text, vector, sum) VALUES (?, ?, ?)", _rows(vectors))
            rows.execute("DELETE FROM vectors WHERE id <= (SELECT max(id) FROM vectors) - ?", (MOST,))
            rows.execute("COMMIT")


def _rows(vectors: Mapping[bytes, bytes]) -> Iterable[tuple[bytes, bytes, int]]:
    return ((text, vector, _sum(text, vector)) for text, vector in vectors.items())


@contextlib.contextmanager
def _open(path: str) -> Iterator[sqlite3.Connection]:
    """Open without a write-ahead log, which does not work on the network file systems that homes lie on."""
    rows = sqlite3.connect(path, timeout=PATIENCE, isolation_level=None)
    try:
        yield rows
    finally:
        rows.close()
