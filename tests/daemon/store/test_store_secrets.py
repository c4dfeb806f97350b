"""No secret that a user writes anywhere is in any table of the database that login nodes share."""

from __future__ import annotations

import contextlib
import shutil
import signal
import zlib
from collections.abc import Iterator

import pytest

from tests.daemon.asking import found
from tests.daemon.breaking import until
from tests.daemon.detached import PROGRAM, SCRIPT, Site
from tests.daemon.serving import WRONG
from tests.daemon.store.server import Server
from tests.daemon.test_daemon_security import SECRETS, canaries
from tests.doubles.stand import Stand, build, compiled

TEXTS = """SELECT table_name, column_name FROM information_schema.columns
WHERE table_schema = current_schema() AND data_type NOT IN ('integer', 'bigint', 'double precision', 'boolean')"""


@pytest.fixture(scope="module")
def tables(server: Server, tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, bytes]]:
    """All text of all tables by its column, after every secret went through a front, a service and a user's reader."""
    url, folder = server.fresh(), tmp_path_factory.mktemp("stand")
    site = Site(Stand(str(folder), build(), compiled("sbatch", str(folder))), store=url)
    try:
        site.daemon.start()
        for secret in SECRETS.values():
            _submit(site, secret)
        until(lambda: len(found(site.daemon, ask="records", limit=500)) >= 2 * len(SECRETS))
        # Of files with a private key in them nothing need be told.
        until(lambda: site.daemon.said.count('"event": "reading"') >= 2 * (len(SECRETS) - 1))
        assert site.daemon.stop() == 0
        yield dict(_dumped(url))
    finally:
        if site.daemon.process is not None and site.daemon.process.poll() is None:
            site.daemon.stop(signal.SIGKILL)
        shutil.rmtree(site.daemon.folder)


def _submit(site: Site, secret: str) -> None:
    """One that is mended, and one whose program and config are read: in script, words, environment and files."""
    plain = secret.encode()
    exported = b"=" in plain.split(b"\n")[0] and b"://" not in plain
    line = (b"export %b\n" if exported else b"# %b\n") % plain
    site.stand.write("job.sh", SCRIPT.replace(b"srun", line + b"srun"))
    site.stand.write("wrong.sh", WRONG.replace(b"export MASTER", line + b"export MASTER") + b"curl --token " + plain)
    site.stand.write("train.py", PROGRAM + b'p.add_argument("--data", default="""%b""")\n' % plain)
    number = 3 + list(SECRETS.values()).index(secret)
    site.stand.write("conf.yaml", b"epochs: %d\npassword: |\n  %b\n" % (number, plain.replace(b"\n", b"\n  ")))
    around = {"SBATCH_COMMENT": secret, "NCCL_TOKEN": secret, "MASTER_ADDR": secret, "HF_TOKEN": secret}
    for name in ("wrong.sh", "job.sh"):
        site.submit("--comment=" + secret, "--wckey", secret, name, secret, environment=around)


def _dumped(url: str) -> Iterator[tuple[str, bytes]]:
    """Every column that can hold words, packed ones unpacked too."""
    import psycopg

    with psycopg.connect(url) as connection:
        for table, column in connection.execute(TEXTS).fetchall():
            rows = connection.execute('SELECT "%s" FROM "%s"' % (column, table)).fetchall()  # type: ignore[arg-type]
            yield "%s.%s" % (table, column), b"\n".join(_plain(value) for (value,) in rows)


def _plain(value: object) -> bytes:
    data = bytes(value) if isinstance(value, (bytes, memoryview)) else str(value).encode()
    with contextlib.suppress(zlib.error):
        return data + b"\n" + zlib.decompress(data)
    return data


@pytest.mark.parametrize("name", SECRETS)
def test_a_secret_is_in_no_table(tables: dict[str, bytes], name: str) -> None:
    """Its own part, as it stands or within something else; what stands around it is there."""
    assert b"torchrun --nnodes" in b"".join(tables.values()) and b"--config" in b"".join(tables.values())
    for canary in canaries(SECRETS[name]):
        assert [place for place, text in tables.items() if canary in text] == []
