# ruff: noqa: F403, F405, SIM105  # as Spack wants it
"""Of Maple's service; Spack's own repository has none."""

from spack.package import *

try:
    from spack_repo.builtin.build_systems.python import PythonPackage  # where Spack 1.0 has it
except ImportError:
    pass  # Spack 0.2x exports it above


class PyStructlog(PythonPackage):
    """Structured logging."""

    homepage = "https://www.structlog.org"
    pypi = "structlog/structlog-26.1.0.tar.gz"

    license("MIT OR Apache-2.0")

    version("26.1.0", sha256="f63a716cbd1b1291cf7661de7794b455acfa4c43c5bcf1630e6ad5ddc1adb3b7")

    depends_on("python@3.11:", type=("build", "run"))
    depends_on("py-hatchling", type="build")
    depends_on("py-hatch-vcs", type="build")
    depends_on("py-hatch-fancy-pypi-readme@22.8:", type="build")
