"""Maple's app for Open OnDemand: `maple check` of a script, `maple progress` of one's jobs, as a terminal shows them.

Passenger runs it as the user, with nothing but the standard library of Python 3.6. It reads, and never submits or
writes. MAPLE_COMMAND (pun_custom_env) names the command where it is neither on PATH nor in /opt/maple.
"""

import html
import os
import re
import shutil
import subprocess
from urllib.parse import parse_qs

SECONDS = 30
JOB = re.compile(r"[0-9][\w.\[\]-]{0,100}", re.ASCII)
PLACES = ("/opt/maple/venv/bin/maple", "/usr/bin/maple", "/usr/local/bin/maple")
STYLE = """
:root { color-scheme: light dark }
body { font: 15px/1.5 system-ui, sans-serif; max-width: 62rem; margin: 2rem auto; padding: 0 1rem }
pre { overflow-x: auto; padding: .8rem; border: 1px solid #8885; border-radius: .3rem }
input { width: 30rem; max-width: 100% }
"""
HEADERS = [
    ("Content-Type", "text/html; charset=utf-8"),
    ("Content-Security-Policy", "default-src 'none'; style-src 'unsafe-inline'; form-action 'self'; base-uri 'none'"),
    ("X-Content-Type-Options", "nosniff"),
    ("Cache-Control", "no-store"),
]
VERDICTS = {0: "Nothing was found.", 1: "Something was found:"}


def application(environ, start_response):
    """Answer one request; what is asked for stands in the address, and changes nothing."""
    status, title, parts = _answered(environ)
    base = html.escape(environ.get("SCRIPT_NAME", "") or "/", quote=True)
    page = "<!doctype html><html lang=en><head><meta charset=utf-8><title>%s</title><style>%s</style></head><body>" % (
        html.escape(title), STYLE,
    )  # fmt: skip
    body = "%s<p><a href='%s'>Maple</a></p><h1>%s</h1>%s</body></html>" % (page, base, html.escape(title), parts)
    start_response(status, HEADERS)
    return [body.encode("utf-8", "replace")] if environ["REQUEST_METHOD"] != "HEAD" else []


def _answered(environ):
    if environ["REQUEST_METHOD"] not in ("GET", "HEAD"):
        return "405 Method Not Allowed", "Only looking is possible here", ""
    path = environ.get("PATH_INFO", "").strip("/")
    asked = parse_qs(environ.get("QUERY_STRING", ""))
    if path == "":
        return "200 OK", "My jobs", _progress([]) + _form(environ)
    if path == "check":
        return _check(environ, asked.get("script", [""])[0])
    job = asked.get("job", [""])[0]
    if path == "progress" and JOB.fullmatch(job):
        return "200 OK", "Job %s" % job, _progress([job])
    return "404 Not Found", "There is no such page", ""


def _check(environ, script):
    script = os.path.expanduser(script.strip())
    if not os.path.isabs(script) or "\0" in script:
        return "400 Bad Request", "Name the script by its whole path", _form(environ)
    code, said = _maple(["check", script])
    return "200 OK", os.path.basename(script), "<p>%s</p>" % VERDICTS.get(code, "") + _shown(said) + _form(environ)


def _progress(words):
    said = _maple(["progress"] + words)[1]
    return _shown(said or "None of your jobs runs now.")


def _maple(words):
    """Return the exit code of Maple's command and what it says, of both streams."""
    command = os.environ.get("MAPLE_COMMAND") or shutil.which("maple") or next(filter(os.path.exists, PLACES), "")
    if not command:
        return 127, "There is no maple command on this host: MAPLE_COMMAND in pun_custom_env names it."
    variables = dict(os.environ, NO_COLOR="1", COLUMNS="110", PYTHONIOENCODING="utf-8")
    try:
        done = subprocess.run([command] + words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, env=variables, timeout=SECONDS)  # fmt: skip
    except (OSError, subprocess.TimeoutExpired) as error:
        return 127, "maple did not answer: %s" % type(error).__name__
    return done.returncode, done.stdout.decode("utf-8", "replace").strip()


def _shown(text):
    return "<pre>%s</pre>" % html.escape(text)


def _form(environ):
    action = html.escape(environ.get("SCRIPT_NAME", "") + "/check", quote=True)
    return (
        "<h2>Look at a batch script</h2><form action='%s' method=get><input name=script required"
        " placeholder='%s/job.sh' aria-label='Path of the script'> <button>Check</button></form>"
    ) % (action, html.escape(os.path.expanduser("~"), quote=True))
