"""What `maple site init` does around the draft: its id, its check, its file."""

from __future__ import annotations

import datetime
import os
import re
from pathlib import Path

from maple_agents.ask.sites.files import parse
from maple_agents.ask.sites.mistakes import Mistakes
from maple_agents.base.complaint import Complaint

from .drafting import NothingHere, draft
from .drafting_asking import Asking

_ID = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")


def drafted(site_id: str, output: Path | None) -> str:
    """Return the text of the draft, checked as `maple site lint` does. Raises `Complaint` in one line."""
    stem = output.name.removesuffix(".toml") if output is not None and output.name.endswith(".toml") else ""
    wanted = site_id or stem
    if wanted and not _ID.fullmatch(wanted):
        raise Complaint("%s: is no id of a site" % wanted, "small letters, digits and single dashes: --id my-cluster")
    if stem and stem != wanted:
        raise Complaint("%s: the file of site %s is called %s.toml" % (output, wanted, wanted), "name it so")
    if output is not None and os.path.lexists(output):
        raise Complaint("%s: is there already" % output, "name a file that does not exist: nothing is overwritten")
    try:
        text = draft(Asking(os.environ), wanted, datetime.date.today())
        parse(text.encode("utf-8"), "draft")
    except NothingHere as error:
        raise Complaint("nothing to draft from: %s" % error, "run it on a login node of the cluster") from None
    except Mistakes as error:
        raise Complaint("the draft is wrong: %s" % str(error).splitlines()[0], "please report it") from None
    return text


def save(text: str, output: Path) -> None:
    """Write the draft to a file that was not there. Raises `Complaint` in one line."""
    try:
        with open(output, "x", encoding="utf-8") as file:
            file.write(text)
    except FileExistsError:
        raise Complaint("%s: is there already" % output, "nothing is overwritten") from None
    except OSError as error:
        raise Complaint("%s: %s" % (output, error.strerror), "name a file in a folder that you may write") from None
