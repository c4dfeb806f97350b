"""Puts a built front into the wheel where there is a C compiler, for submit hosts without one; hatchling calls it."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class BuildFront(BuildHookInterface):  # type: ignore[type-arg]
    """Compiles the front, which makes the wheel one of this platform; without a compiler it stays one for all."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Add the front beside its sources; *version* "editable" has them in the checkout."""
        folder = Path(self.root, "submit_filter", "front")
        if version == "editable" or not shutil.which("make") or not any(map(shutil.which, ("gcc", "cc"))):
            return
        subprocess.run(["make", "-s", "-C", str(folder)], check=True)
        build_data["shared_data"][str(folder / "build" / "front")] = "share/maple/front/front"
        build_data["pure_python"] = False
        build_data["infer_tag"] = False
        build_data["tag"] = f"py3-none-{platform_tag()}"


def platform_tag() -> str:
    """Return this platform as wheels name it, such as linux_x86_64."""
    import sysconfig

    return sysconfig.get_platform().replace("-", "_").replace(".", "_")
