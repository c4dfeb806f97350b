"""The shell that reads the script, and how torch's old launcher tells a program its local rank."""

from __future__ import annotations

import re

from maple_submit_filter.bash.check import parses
from maple_submit_filter.types.edits import Edit, Fix, Safety, Span

from ..registry import Given, fix
from .insertion import plain_words

_FIRST = re.compile(rb"#![ \t]*(?:(?:/usr)?/bin/(?:ba)?sh|/usr/bin/env[ \t]+(?:ba)?sh)[ \t]*(?=\n|\Z)")
_LAUNCH = "torch.distributed.launch"
_USE_ENV = re.compile(rb"--use[-_]env\b")


@fix("login-shell")
def login_shell(given: Given) -> Fix | None:
    """Let the first line name a login shell of bash, where it names bash or sh without options.

    Under PBS the user's own login shell reads the script, whatever its first line says.
    """
    match = _FIRST.match(given.job.source)
    if match is None or given.case.scheduler == "pbs":
        return None
    edit = Edit(Span(*match.span()), b"#!/bin/bash -l", "login-shell")
    return Fix((edit,), Safety.ASK, "the script begins with #!/bin/bash -l, which reads what defines module")


@fix("local-rank-by-environment")
def local_rank_by_environment(given: Given) -> Fix | None:
    """Let torch.distributed.launch tell the local rank by LOCAL_RANK alone, as torchrun does: --use_env."""
    source = given.job.source
    words = [word for word in plain_words(source) if word.text == _LAUNCH]
    ends = [word.span.end for word in words if not _USE_ENV.search(source[word.command.start : word.command.end])]
    edits = tuple(Edit(Span(at, at), b" --use_env", "local-rank-by-environment") for at in ends)
    return Fix(edits, Safety.ASK, "the program reads LOCAL_RANK, and gets no argument") if edits else None


_OF_SH = re.compile(rb"#![ \t]*(?:(?:/usr)?/bin/(?:sh|dash|ash)|/usr/bin/env[ \t]+(?:sh|dash))(?=[ \t]|\n|\Z)")
_SAYS = re.compile(
    r"Syntax error: |Bad substitution|\[\[: not found|source: not found|(?:declare|shopt|pushd|typeset): not found"
)


@fix("bash-shebang")
def bash_shebang(given: Given) -> Fix | None:
    """Let bash read a script that names sh, where a plain sh stumbled over what bash understands."""
    match, texts = _OF_SH.match(given.job.source), [line.text for line in given.cause.evidence]
    if match is None or not any(_SAYS.search(text) for text in texts) or not parses(given.job.source):
        return None
    return Fix((Edit(Span(*match.span()), b"#!/bin/bash", "bash-shebang"),), Safety.ASK, "the script is read by bash")


_OPEN = re.compile(r"line (\d+): unexpected EOF while looking for matching [`'‘](.)['’]")


@fix("close-quote")
def close_quote(given: Given) -> Fix | None:
    """Close the quote that the shell found open, where its line is the only one with an odd number of them."""
    match = next(filter(None, (_OPEN.search(line.text) for line in given.cause.evidence)), None)
    if match is None or match[2] not in "\"'":
        return None
    quote, lines = match[2].encode(), given.job.source.split(b"\n")
    odd = [at for at, line in enumerate(lines, 1) if line.replace(b"\\" + quote, b"").count(quote) % 2]
    if odd != [int(match[1])]:
        return None
    end = sum(len(line) + 1 for line in lines[: odd[0]]) - 1
    end -= len(lines[odd[0] - 1]) - len(lines[odd[0] - 1].rstrip(b"\r"))
    return Fix((Edit(Span(end, end), quote, "close-quote"),), Safety.ASK, "the quote of line %d is closed" % odd[0])
