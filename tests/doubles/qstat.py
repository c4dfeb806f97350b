#!/usr/bin/python3 -I
"""qstat of OpenPBS 23.06, for questions about jobs: what it prints of a table of jobs, as it was measured to print it.

As a command it reads the table from the file that QSTAT_JOBS names: attributes by full id, as its JSON has them.

- `-F json A B` prints A alone, exits with 0 and says nothing of B; text prints both. `-E` asks for all in one question,
  which prints all of them in JSON too, and leaves unknown ids out without a word. A comma list is refused.
- An unknown id is a line on stderr and exit status 153, in any form without `-E`; so is one with it that stands alone.
- Without `-x` a finished job is a refusal, exit status 35.
- A subjob has no `Submit_arguments`; its parent has. An array's own id lists its subjobs only with `-t`.
"""

from __future__ import annotations

import json
import os
import re
import sys

UNKNOWN, FINISHED, USAGE = 153, 35, 2
_VALUED = "F"  # options with a value of their own


def answer(jobs, words, server="pbs01"):
    """Return stdout, stderr and exit status for *words*. *jobs*: attributes by full id, groups in them as tables."""
    options, ids = _read(words)
    if any("," in one for one in ids):
        return "", "".join("qstat: illegally formed job identifier: %s\n" % one for one in ids if "," in one), 1
    names = [_full(one, jobs, server) for one in ids]
    if not ids:
        names = [one for one in jobs if "t" in options or not re.search(r"\[\d", one)]
        names = [one for one in names if "x" in options or jobs[one].get("job_state") != "F"]
    silent = "E" in options and len(names) > 1
    shown, err, code = [], "", 0
    for name in names:
        if name not in jobs:
            code, err = (code, err) if silent else (UNKNOWN, err + "qstat: Unknown Job Id %s\n" % name)
        elif "x" not in options and jobs[name].get("job_state") == "F":
            text = "qstat: %s Job has finished, use -x or -H to obtain historical job information\n"
            code, err = (code, err) if silent else (FINISHED, err + text % name)
        else:
            shown.append(name)
    if options.get("F") == "json":
        return _json(jobs, shown if "E" in options or not ids else shown[:1], server), err, code
    return "".join(_text(name, jobs[name]) for name in shown), err, code


def _read(words):
    options, ids, words = {}, [], list(words)
    while words:
        word = words.pop(0)
        if not word.startswith("-"):
            ids.append(word)
            continue
        for letter in word[1:]:
            options[letter] = words.pop(0) if letter in _VALUED and words else ""
    return options, ids


def _full(asked, jobs, server):
    return asked if "." in asked else "%s.%s" % (asked, server)


def _attributes(name, told):
    return {key: value for key, value in told.items() if key != "Submit_arguments" or not re.search(r"\[\d+\]", name)}


def _json(jobs, names, server):
    head = {"timestamp": 1763670600, "pbs_version": "23.06.06", "pbs_server": server}
    found = {name: _attributes(name, jobs[name]) for name in names}
    return json.dumps({**head, "Jobs": found} if found else head, indent=4) + "\n"


def _text(name, told):
    lines = ["Job Id: %s" % name]
    for key, value in _attributes(name, told).items():
        if key == "Variable_List":
            lines.append("    %s = %s" % (key, ",".join("%s=%s" % pair for pair in value.items())))
        elif isinstance(value, dict):
            lines += ["    %s.%s = %s" % (key, one, of_it) for one, of_it in value.items()]
        else:
            lines.append("    %s = %s" % (key, value))
    return "\n".join(lines) + "\n\n"


if __name__ == "__main__":
    with open(os.environ["QSTAT_JOBS"], encoding="utf-8") as file:
        out, err, code = answer(json.load(file), sys.argv[1:])
    sys.stdout.write(out)
    sys.stderr.write(err)
    sys.exit(code)
