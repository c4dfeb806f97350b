"""Commands that do what the word behind them says, without that word."""

from __future__ import annotations

import re
from typing import Dict, FrozenSet, Iterator

from ...site.facts import Site
from ...types.edits import Edit, Fix, Safety, Span
from ...types.findings import Finding
from ...types.job import Job, in_comment, joined
from ...types.launch_plan import LaunchPlan
from .. import rule

_OF_IMAGES = frozenset(
    b"exec run shell instance build pull push cache capability config delete help inspect key keyserver overlay "
    b"plugin registry remote search sif sign test verify version oci checkpoint".split()
)
# What each takes, and which is meant where a program, or an image, stands in its place.
_TAKEN: Dict[bytes, FrozenSet[bytes]] = {
    b"accelerate": frozenset(
        b"launch config env estimate-memory merge-weights migrate-config test to-fsdp2 tpu-config".split()
    ),
    b"apptainer": _OF_IMAGES,
    b"singularity": _OF_IMAGES | frozenset(b"image.import image.create image.export bootstrap create".split()),
}
_MEANT = {b"accelerate": b"launch", b"apptainer": b"exec", b"singularity": b"exec"}
_CALLED = (
    rb"(?m)(?:^|[;&|(][ \t]*|(?<=[ \t]))(?P<name>accelerate|apptainer|singularity)"
    rb"(?P<flags>(?:[ \t]+--?[A-Za-z][\w-]*(?:=\S+|[ \t]+\d+)?)*)[ \t]+(?P<word>[\w./$\"][^\s;&|]*)"
)
_PROGRAM = rb"(?i)\S+\.(?:py|sif|simg|img)\Z|docker://\S+|\$\{?\w*(?:SIF|IMG|IMAGE|CONTAINER)\w*\}?\Z"
# An option of what starts, where each takes a few of its own: the word is lacking, whatever follows.
_AT_ONCE = (
    rb"(?m)(?:^|[;&|('\"][ \t]*|(?<=[ \t]))(?P<name>accelerate(?=[ \t]+--(?!help\b|version\b)[a-z])"
    rb"|(?:apptainer|singularity)(?=[ \t]+(?:--(?:nv|nvccli|rocm|bind|env|pwd|home|cleanenv|containall|fakeroot|overlay"
    rb"|writable|no-home|contain)\b|-[BeHW][ \t])))(?=(?P<word>[ \t]+-[\w-]+))"
)
_NO_CALL = (b"load", b"add", b"install", b"echo", b"-p", b"module", b"ml", b"which", b"-v")


@rule("MPL337", "a command without the word that says what to do")
def check(plan: LaunchPlan, job: Job, site: Site) -> Iterator[Finding]:
    """accelerate, apptainer and singularity begin with a command of theirs.

    Wrong: accelerate --num_processes 4 train.py; apptainer --nv image.sif python train.py
    Right: accelerate launch --num_processes 4 train.py; apptainer exec --nv image.sif python train.py
    Why:   they say: invalid choice, or: unknown command, and nothing starts. Said where a program or an image stands in
           its place; `maple check` shows the change.
    """
    if not any(name in job.source for name in _TAKEN):
        return
    source = joined(job.source)
    for match in (*re.finditer(_AT_ONCE, source), *re.finditer(_CALLED, source)):
        name, word = match.group("name"), match.group("word").strip(b" \t\"'")
        if word in _TAKEN[name] or in_comment(source, match.start("name")):
            continue
        if not re.match(_PROGRAM, word) and word[:1] != b"-":
            continue
        before = source[: match.start("name")].rpartition(b"\n")[2].split()
        if before and (before[-1] in _NO_CALL or before[0] in _NO_CALL):
            continue
        shown, own = name.decode(), _MEANT[name]
        edit = Edit(Span(match.end("name"), match.end("name")), b" " + own, "MPL337")
        yield Finding("MPL337", "%s is not told what to do with %s" % (shown, word.decode("utf-8", "replace")),
                      Span(*match.span("name")), help="%s %s" % (shown, own.decode()),
                      fixes=(Fix((edit,), Safety.ASK, "%s %s" % (shown, own.decode())),))  # fmt: skip
        return
