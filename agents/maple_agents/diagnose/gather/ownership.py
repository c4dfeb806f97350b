"""Whose job it is: only its owner and root are told why it failed."""

from __future__ import annotations

import os
import pwd

from ...base.complaint import Complaint


def uid_of(name: str) -> int | None:
    """Return the uid of a user; schedulers write the number where they know no name."""
    try:
        return pwd.getpwnam(name).pw_uid
    except (KeyError, ValueError):
        return int(name) if name.isascii() and name.isdigit() else None


def name_of(uid: int) -> str:
    """Return the name of a user, the number where there is none."""
    try:
        return pwd.getpwuid(uid).pw_name
    except KeyError:
        return str(uid)


def home_of(uid: int) -> str:
    """Return the home of a user, "" where that is not known."""
    try:
        return pwd.getpwuid(uid).pw_dir
    except KeyError:
        return ""


def check(job_id: str, owner: str) -> int | None:
    """Return the owner's uid, None where the scheduler names nobody. Raises `Complaint` for another user's job."""
    if not owner:
        return None
    uid = uid_of(owner)
    if os.geteuid() not in (0, uid):
        raise Complaint("job %s is %s's" % (job_id, owner), "only its owner is told why it failed")
    return uid
