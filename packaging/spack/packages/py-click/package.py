# ruff: noqa: F403, F405, SIM105  # as Spack wants it
"""Behind sqlite-utils, which wants 8.3.1; Spack's own repository ends at 8.2.2."""

from spack.package import *

try:
    from spack_repo.builtin.build_systems.python import PythonPackage  # where Spack 1.0 has it
except ImportError:
    pass  # Spack 0.2x exports it above


class PyClick(PythonPackage):
    """Command lines."""

    homepage = "https://click.palletsprojects.com"
    pypi = "click/click-8.5.1.tar.gz"

    license("BSD-3-Clause")

    version("8.5.1", sha256="9bbfada76703fd1d784b83eea012e3e8c6a001a876543ef104fa56aaaeb072b4")

    depends_on("python@3.10:", type=("build", "run"))
    depends_on("py-flit-core@3.11:3", type="build")
