# ruff: noqa: F403, F405, SIM105  # as Spack wants it
"""Of Maple's service; Spack's own repository ends at 2.1.9."""

from spack.package import *

try:
    from spack_repo.builtin.build_systems.python import PythonPackage  # where Spack 1.0 has it
except ImportError:
    pass  # Spack 0.2x exports it above


class PyWatchdog(PythonPackage):
    """What happens to files, as events."""

    homepage = "https://github.com/gorakhargosh/watchdog"
    pypi = "watchdog/watchdog-7.1.0.tar.gz"

    license("Apache-2.0")

    version("7.1.0", sha256="d3861e255416f49a1384474cb2efa097de165fb330d4c5432ce6708b509ed922")

    depends_on("c", type="build")
    depends_on("python@3.11:", type=("build", "run"))
    depends_on("py-setuptools", type="build")
