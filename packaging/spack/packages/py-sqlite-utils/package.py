# ruff: noqa: F403, F405, SIM105  # as Spack wants it
"""Of Maple's service; Spack's own repository has none."""

from spack.package import *

try:
    from spack_repo.builtin.build_systems.python import PythonPackage  # where Spack 1.0 has it
except ImportError:
    pass  # Spack 0.2x exports it above


class PySqliteUtils(PythonPackage):
    """SQLite databases by Python and command line."""

    homepage = "https://sqlite-utils.datasette.io"
    pypi = "sqlite-utils/sqlite_utils-4.2.1.tar.gz"

    license("Apache-2.0")

    version("4.2.1", sha256="76114b6a5414714e6c70e5fa5c4781b301b590f6951b5da39c8cc60c21382ba1")

    depends_on("python@3.10:", type=("build", "run"))
    depends_on("py-setuptools@77:", type="build")
    depends_on("py-click@8.3.1:", type=("build", "run"))
    depends_on("py-click-default-group@1.2.3:", type=("build", "run"))
    depends_on("py-pip", type=("build", "run"))
    depends_on("py-pluggy", type=("build", "run"))
    depends_on("py-python-dateutil", type=("build", "run"))
    depends_on("py-sqlite-fts4", type=("build", "run"))
    depends_on("py-tabulate", type=("build", "run"))
