# ruff: noqa: F403, F405, SIM105  # as Spack wants it
"""Of Maple's service, behind sqlite-utils; Spack's own repository has none."""

from spack.package import *

try:
    from spack_repo.builtin.build_systems.python import PythonPackage  # where Spack 1.0 has it
except ImportError:
    pass  # Spack 0.2x exports it above


class PySqliteFts4(PythonPackage):
    """Ranking functions for SQLite's FTS4."""

    homepage = "https://github.com/simonw/sqlite-fts4"
    pypi = "sqlite-fts4/sqlite-fts4-1.0.3.tar.gz"

    license("Apache-2.0")

    version("1.0.3", sha256="78b05eeaf6680e9dbed8986bde011e9c086a06cb0c931b3cf7da94c214e8930c")

    depends_on("python@3:", type=("build", "run"))
    depends_on("py-setuptools", type="build")
