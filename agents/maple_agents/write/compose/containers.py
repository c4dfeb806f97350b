"""How a program is run inside a container on a site."""

from __future__ import annotations

import re
import shlex

from ...base.slots import Refused
from ..values import Plan

_NAMED = re.compile(r"\b(apptainer|singularity|shifter|podman-hpc)\b")
_GPUS = {"nvidia": b"--nv ", "amd": b"--rocm "}


def runtime(plan: Plan) -> str:
    """Return the command that runs containers there: the one that the site's own usage line has, else apptainer."""
    file = plan.cluster.file
    if file is None or file.containers is None:
        return "apptainer"
    found = _NAMED.search(file.containers.usage) or _NAMED.search(file.containers.runtime)
    if "shifter" in file.containers.runtime:
        return "shifter"
    return found[1] if found else "apptainer"


def words(plan: Plan) -> bytes:
    """Return what stands in front of the program, with a blank behind it; b"" where no container was said.

    Shifter takes its image from a directive.
    """
    image = plan.said.text("container")
    if not image:
        return b""
    command = runtime(plan)
    if command == "shifter":
        return b"shifter "
    vendor = next((kind.gpu_vendor for kind in plan.kinds if kind.gpu_vendor), "nvidia")
    return b"%s exec %s%s " % (command.encode(), _GPUS.get(vendor, b""), _word(image).encode())


def _word(image: str) -> str:
    """Return the image as one word of shell: variables and a leading tilde keep their meaning.

    Raises `Refused` where something in it would begin another command.
    """
    if not re.fullmatch(r"[\w@%+=:,./~${} -]+", image):
        raise Refused("container %r: is no path or address of an image" % image)
    if " " not in image:
        return '"%s"' % image if "$" in image else image
    return '"%s"' % image if "$" in image else shlex.quote(image)


def load(plan: Plan) -> list[bytes]:
    """Return the line that brings the runtime, where one was documented and a container was said."""
    file = plan.cluster.file
    if file is None or file.containers is None or not plan.said.text("container"):
        return []
    return [file.containers.load.encode()] if file.containers.load else []
