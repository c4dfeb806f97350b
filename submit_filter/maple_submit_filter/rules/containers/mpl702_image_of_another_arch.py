"""Images for another kind of processor."""

from __future__ import annotations

import re
from typing import Iterator, Optional

from ...site.facts import Site
from ...types.edits import Edit, Fix, Safety, Span
from ...types.findings import Finding
from ...types.job import Job, joined
from ...types.launch_plan import LaunchPlan
from .. import rule

_OF_X86 = re.compile(rb"(?m)^(?![ \t]*#)[^\n]*?(?<![A-Za-z0-9])(x86[_-]64|amd64|linux64|x86)(?![A-Za-z0-9])")
_ABOUT_IMAGES = re.compile(
    rb"\b(?:ba|z)?sh[ \t][^\n]*x86_64[\w.-]*\.sh\b|\.sif\b|\.sqsh\b|docker://|oras://|--arch\b|/NGC\b|_sif\b|\.whl\b"
    rb"|(?:source|\.)[ \t]+\S*/(?:activate|conda\.sh)\b|\b(?:conda|mamba|micromamba)[ \t]+activate\b",
    re.IGNORECASE,
)
_HELP = {False: "take an image built for arm64", True: "take an environment that was made on nodes of this kind"}
_ASKS = re.compile(rb"uname|\bcase\b|\bif\b|\[\[?")


@rule("MPL702", "an image for another kind of processor")
def check(plan: LaunchPlan, job: Job, site: Site) -> Iterator[Finding]:
    """A container runs on the processors that its image was built for.

    Wrong: bash Miniconda3-latest-Linux-x86_64.sh
    Wrong: source /work/miniconda3-linux-x86_64/bin/activate
    Wrong: pip install flash_attn-2.5.6-cp311-cp311-linux_x86_64.whl
    Wrong: apptainer exec --nv torch-x86_64.sif, or apptainer pull --arch amd64, on the Grace processors of Vista
    Right: an image built for aarch64 (arm64)
    Why:   the program ends at once: exec format error. Maple tells it by the name, which may mislead, so it only
           reports it; where --arch says so, `maple check` shows the change.
    """
    if site.arch != "aarch64":
        return
    source = joined(job.source)
    for match in _OF_X86.finditer(source):
        line = match.group() + source[match.end() : match.end() + 200].split(b"\n")[0]
        if _ABOUT_IMAGES.search(line) and not _ASKS.search(line):
            says = "%s is named, but the processors here are %s" % (match.group(1).decode(), site.arch)
            fix = _arm(match, line) or _installer(match.group(1), job.source)
            yield Finding("MPL702", says, Span(*match.span(1)), fixes=(fix,) if fix is not None else (),
                          help=_help(line), site_fact="cpu_arch")  # fmt: skip
            return


def _help(line: bytes) -> str:
    if b".whl" in line:
        return "take a wheel for aarch64, or have pip choose: pip install NAME"
    return _HELP[b"activate" in line or b"conda.sh" in line]


def _installer(word: bytes, source: bytes) -> Optional[Fix]:
    """Take the installer for this processor, wherever the script names the one that it fetches and runs."""
    names = set(re.findall(rb"[\w.-]+-x86_64\.sh\b", source))
    if word != b"x86_64" or len(names) != 1 or source.count(word) != source.count(next(iter(names))):
        return None
    spans = [Span(match.start(), match.end()) for match in re.finditer(rb"x86_64", source)]
    return Fix(tuple(Edit(span, b"aarch64", "MPL702") for span in spans), Safety.ASK, "the installer for aarch64")


def _arm(match: "re.Match[bytes]", line: bytes) -> Optional[Fix]:
    """Have the image for this processor pulled, where an option says which."""
    if not re.search(rb"--(?:arch|platform)[ =](?:linux/)?amd64\b", line) or match.group(1) != b"amd64":
        return None
    return Fix((Edit(Span(*match.span(1)), b"arm64", "MPL702"),), Safety.ASK, "the image for arm64")
