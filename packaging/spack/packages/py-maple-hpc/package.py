# ruff: noqa: F403, F405, SIM105  # as Spack wants it
"""Maple for Spack: `spack install --no-checksum py-maple-hpc`, in the folder of the archive; docs/administration.md."""

import os

from spack.package import *

try:
    from spack_repo.builtin.build_systems.python import PythonPackage  # where Spack 1.0 has it
except ImportError:
    pass  # Spack 0.2x exports it above


class PyMapleHpc(PythonPackage):
    """Repairs wrong launch lines of distributed deep-learning jobs before they are submitted.

    What is installed here is the environment; `maple admin install` puts Maple in front of sbatch or qsub from it.
    """

    manual_download = True  # made from a checkout, so without a checksum; Spack looks for it in the working folder

    license("Apache-2.0")

    version("0.1.0")

    variant("daemon", default=True, description="The service that remembers")
    variant("window", default=False, description="maple admin serve")

    depends_on("c", type="build")  # the front
    depends_on("gmake", type="build")
    depends_on("python@3.11:", type=("build", "run"))
    depends_on("py-hatchling", type="build")
    depends_on("py-click@8.1:", type=("build", "run"))
    depends_on("py-jsonschema@4.20:", type=("build", "run"))
    depends_on("py-pydantic@2.5:", type=("build", "run"))
    depends_on("py-pyyaml@6:", type=("build", "run"))
    depends_on("py-rich@13:", type=("build", "run"))
    # Spack has no ahocorasick-rs; without it logs are searched by an expression, which is slower and finds the same.

    with when("+daemon"):
        depends_on("py-prometheus-client@0.20:", type=("build", "run"))
        depends_on("py-sqlite-utils@4:", type=("build", "run"))
        depends_on("py-structlog@24:", type=("build", "run"))
        depends_on("py-watchdog@4:", type=("build", "run"))
    with when("+window"):
        depends_on("py-starlette@0.40:", type=("build", "run"))
        depends_on("py-uvicorn@0.30:", type=("build", "run"))

    def url_for_version(self, version):
        """Return where the archive is looked for."""
        return f"file://{os.getcwd()}/maple_hpc-{version}.tar.gz"
