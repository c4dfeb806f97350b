"""The app for Open OnDemand, called as Passenger calls it: it shows what Maple's commands say, and no more."""

from __future__ import annotations

import importlib.util
import io
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any
from urllib.parse import urlencode
from wsgiref.util import setup_testing_defaults
from wsgiref.validate import validator

import pytest
import yaml

ROOT = Path(__file__).parents[2]
APP = ROOT / "packaging/ondemand/maple"
BASE = "/pun/sys/maple"
WRONG = """\
#!/bin/bash
#SBATCH --nodes=2
#SBATCH --partition=gpuA100x4
#SBATCH --gpus-per-node=4
#SBATCH --ntasks-per-node=4
HOST=$(scontrol show hostnames "$SLURM_JOB_NODELIST" | head -n 1)
srun torchrun --nnodes=2 --nproc-per-node=4 --rdzv-backend=c10d --rdzv-endpoint=$HOST:29500 train.py
"""
Asked = Callable[..., tuple[str, str]]


@pytest.fixture
def app() -> ModuleType:
    """The app, loaded by its path as Passenger does."""
    spec = importlib.util.spec_from_file_location("passenger_wsgi", APP / "passenger_wsgi.py")
    assert spec is not None and spec.loader is not None
    made = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(made)
    return made


@pytest.fixture
def asked(app: ModuleType, monkeypatch: pytest.MonkeyPatch) -> Asked:
    """A function that asks for a page below BASE and returns status and text; the standard's own validator listens."""
    monkeypatch.setenv("MAPLE_COMMAND", str(Path(sys.executable).with_name("maple")))

    def ask(path: str, method: str = "GET", **query: str) -> tuple[str, str]:
        environ: dict[str, Any] = {"REQUEST_METHOD": method, "SCRIPT_NAME": BASE, "PATH_INFO": path,
                                   "QUERY_STRING": urlencode(query), "wsgi.input": io.BytesIO()}  # fmt: skip
        setup_testing_defaults(environ)
        told: list[str] = []
        parts = validator(app.application)(environ, lambda status, headers, *_: told.append(status) or bytes)
        text = b"".join(parts).decode()
        parts.close()  # type: ignore[attr-defined]
        return told[0], text

    return ask


def test_a_script_is_looked_at_and_stays_as_it_is(
    asked: Asked, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What maple check says of it stands there, with the change that it would make."""
    script = tmp_path / "job.sh"
    script.write_text(WRONG)
    monkeypatch.setenv("MAPLE_SITE", "ncsa-delta")
    status, text = asked("/check", script=str(script))
    assert status == "200 OK" and "Something was found:" in text and "MPL3" in text and "--ntasks-per-node=1" in text
    assert script.read_text() == WRONG and [path.name for path in tmp_path.iterdir()] == ["job.sh"]
    script.write_text("#!/bin/bash\nhostname\n")
    assert "Nothing was found." in asked("/check", script=str(script))[1]


def test_the_words_of_a_page_are_words_of_the_command(
    asked: Asked, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One job, or all of one's own; what is said comes out as text."""
    command = tmp_path / "maple"
    command.write_text('#!/bin/sh\nprintf "%s|" "$@" "<script>"\n')
    command.chmod(0o755)
    monkeypatch.setenv("MAPLE_COMMAND", str(command))
    assert "<pre>progress|4711_3|&lt;script&gt;|</pre>" in asked("/progress", job="4711_3")[1]
    assert "<pre>progress|&lt;script&gt;|</pre>" in asked("/")[1]
    assert "check|/tmp/a b;c|" in asked("/check", script="/tmp/a b;c")[1]
    monkeypatch.setenv("MAPLE_COMMAND", str(tmp_path / "none"))
    assert "maple did not answer: FileNotFoundError" in asked("/")[1]


@pytest.mark.parametrize("path, query, status", [
    ("/check", {"script": "--help"}, "400"), ("/check", {"script": "job.sh"}, "400"), ("/check", {}, "400"),
    ("/check", {"script": "/a\0b"}, "400"), ("/progress", {"job": "../../etc/passwd"}, "404"),
    ("/progress", {"job": "--watch"}, "404"), ("/progress", {}, "404"), ("/fix", {}, "404"),
], ids=str)  # fmt: skip
def test_what_is_no_script_and_no_job_starts_nothing(
    asked: Asked, monkeypatch: pytest.MonkeyPatch, path: str, query: dict[str, str], status: str
) -> None:
    monkeypatch.setattr(subprocess, "run", lambda *_, **__: pytest.fail("something was started"))
    assert asked(path, **query)[0].startswith(status)
    assert asked(path, method="POST", **query)[0].startswith("405")


def test_its_own_python_serves_it(tmp_path: Path) -> None:
    """By the wrapper that Passenger looks for, in its folder, with no variable of ours."""
    serve = "import passenger_wsgi as app\nfrom wsgiref.util import setup_testing_defaults\n"
    serve += "environ = {'SCRIPT_NAME': '%s', 'PATH_INFO': '/check'}\nsetup_testing_defaults(environ)\n" % BASE
    serve += "print(b''.join(app.application(environ, lambda status, headers: print(status))).decode())\n"
    argv, environ = [APP / "bin/python", "-B", "-c", serve], {"PATH": "/usr/bin:/bin", "HOME": str(tmp_path)}
    done = subprocess.run(argv, cwd=APP, env=environ, capture_output=True, text=True, check=True, timeout=60)
    assert done.stdout.startswith("400 Bad Request\n") and "action='%s/check'" % BASE in done.stdout


def test_the_dashboard_can_show_it() -> None:
    """The app's description has what it needs, and the card leads to the app by the name of its folder."""
    manifest = yaml.safe_load((APP / "manifest.yml").read_text())
    assert {"name", "category", "icon", "description"} == set(manifest) and "role" not in manifest
    card = (ROOT / "packaging/ondemand/widgets/_maple.html.erb").read_text()
    assert card.count("/pun/sys/%s" % APP.name) == 2 and "<%" not in card
