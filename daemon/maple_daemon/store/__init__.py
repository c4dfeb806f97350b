"""What remembers: the store that the settings name, a path for SQLite, `postgresql://…` for a server."""

from __future__ import annotations

import time
from collections.abc import Callable

from .protocol import Store
from .sqlite import open_sqlite

SCHEMES = ("postgresql://", "postgres://")


def open_store(
    named: str,
    say: Callable[[str], None] | None = None,
    *,
    create: bool = True,
    clock: Callable[[], float] = time.time,
    bulk: bool = False,
) -> Store:
    """Return the store, made and migrated where needed. Raises `StoreError`.

    *say*: hears that a corrupt file was laid aside and a new one made; None: it is left where it is.
    *create*: False where a store that is not there is a mistake, as for an administrator's command. *bulk*: very many
    rows will be written, so more of them wait in memory and in the log.
    """
    if named.startswith(SCHEMES):
        from .postgresql import open_postgresql

        return open_postgresql(named, clock, create=create)
    return open_sqlite(named, clock, say=say, create=create, bulk=bulk)
