"""A diagnosis that was made at the job's end, shown at once."""

from __future__ import annotations

import json
import time
from typing import Optional

import click
from maple_submit_filter.answer.report import printable

from ...diagnose.at_end import kept
from ...diagnose.tell.json_form import VERSION


def shown(job: str, as_json: bool) -> Optional[int]:
    """Print what was found at the end of a job, and return the exit code; None where nothing was."""
    told = kept(job, time.time())
    try:
        if told is None:
            return None
        found, text, at = told["told"], str(told["shown"]), float(told["at"])
        if found["version"] != VERSION:
            return None
        unknown = found["cause"]["class"] == "unknown"
    except (KeyError, TypeError, ValueError):
        return None
    if as_json:
        click.echo(json.dumps(found, indent=2))
    else:
        for line in text.splitlines():
            click.echo(printable(line))
        when = time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(at))
        click.echo("found at the job's end, %s; maple-fix %s --anew reads the logs again" % (when, printable(job)))
    return 1 if unknown else 0
