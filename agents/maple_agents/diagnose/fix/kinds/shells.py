"""The shell that reads the script, and how torch's old launcher tells a program its local rank."""

from __future__ import annotations

import re

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
