# ruff: noqa: F403, F405, SIM105  # as Spack wants it
"""Of Maple's service, behind sqlite-utils; Spack's own repository has none."""

from spack.package import *

try:
    from spack_repo.builtin.build_systems.python import PythonPackage  # where Spack 1.0 has it
except ImportError:
    pass  # Spack 0.2x exports it above


class PyClickDefaultGroup(PythonPackage):
    """A group of click commands with a default one."""

    homepage = "https://github.com/click-contrib/click-default-group"
    pypi = "click-default-group/click_default_group-1.2.4.tar.gz"

    license("BSD-3-Clause")

    version("1.2.4", sha256="eb3f3c99ec0d456ca6cd2a7f08f7d4e91771bef51b01bdd9580cc6450fe1251e")

    depends_on("python@3:", type=("build", "run"))
    depends_on("py-flit-core@3.2:3", type="build")
    depends_on("py-click", type=("build", "run"))
