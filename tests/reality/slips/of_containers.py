"""Slips of containers/: images and what reaches into them."""

from __future__ import annotations

from tests.reality.slips.forms import on_line, unread
from tests.reality.slips.script import Script
from tests.reality.slips.slip import Slip

_RUNS = rb"\b(apptainer|singularity)([ \t]+)(exec|run)\b"


def _in_container(script: Script) -> bool:
    """The launch line starts an image with --nv, and nothing else brings the driver."""
    return b" --nv" in script.launch and script.text.count(b"--nv") == 1 and b"APPTAINER_NV" not in script.text


SLIPS = [
    Slip(
        "an image without the GPUs of its host", ("MPL701",), _in_container,
        {
            "left out": on_line(rb"[ \t]+--nv(?=\s)", rb""),
            "behind the image": on_line(rb"[ \t]+--nv((?:[ \t]+\\\n)?(?:[ \t]+\S+)*?[ \t]+\S+\.sif)", rb"\1"),
            "singularity": lambda script: script.swap_launch(
                rb"\b(?:apptainer|singularity)([ \t]+(?:exec|run))((?:.|\n)*?)[ \t]+--nv(?=\s)", rb"singularity\1\2"),
            "by its path": lambda script: script.swap_launch(
                rb"\b(apptainer|singularity)([ \t]+(?:exec|run))((?:.|\n)*?)[ \t]+--nv(?=\s)", rb"/usr/bin/\1\2\3"),
        },
        {**unread(b"apptainer exec image.sif python train.py")},
    ),
]  # fmt: skip
