"""What was read of a file before stands in place of the file while that is as it was, and changes nothing else."""

from __future__ import annotations

import base64
import hashlib
import json
import os
import shutil
import socket
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from maple_agents.admission import messages
from maple_agents.admission.files import read_files
from maple_agents.admission.user_files import Extract, Files
from maple_daemon.remember.sections import script_parts
from maple_submit_filter.host import frames
from maple_submit_filter.host.frames import Request
from maple_submit_filter.site.facts import GENERIC_PBS, GENERIC_SLURM, Site
from maple_submit_filter.types.submission import Submission

from tests.agents.admission.test_admission_cases import CASES, NAMES


def submission(folder: Path) -> Submission:
    """`sbatch job.sh` or `qsub job.sh` in that folder."""
    script = (folder / "job.sh").read_bytes()
    scheduler, command = ("pbs", b"qsub") if b"#PBS" in script else ("slurm", b"sbatch")
    uid, here = os.getuid(), os.fsencode(folder)
    return Submission(scheduler, (command, b"job.sh"), script, "file", b"job.sh", here, uid, {b"HOME": b"/home/u"})


def kept(files: Files) -> dict[str, Extract]:
    """What was read, as it comes back the next time."""
    return {path: Extract(files.looked[path], text) for path, text in files.extracts.items()}


@pytest.mark.parametrize("name", NAMES)
def test_what_is_known_of_files_says_what_the_files_say(name: str, tmp_path: Path) -> None:
    """The same values and parts, and no file is read."""
    folder = tmp_path / "job"
    shutil.copytree(CASES / name, folder)
    asked = submission(folder)
    parts = script_parts(asked.script or b"")
    first = Files(str(folder))
    fresh = read_files(asked, parts, files=first)
    second = Files(str(folder), known=kept(first))
    assert read_files(asked, parts, files=second) == fresh
    assert second.read == []
    assert (second.looked, second.extracts, second.parts) == (first.looked, first.extracts, first.parts)


def _program(folder: Path) -> Path:
    path = folder / "train.py"
    path.write_bytes(b'import argparse\np = argparse.ArgumentParser()\np.add_argument("--lr", default=0.5)\n')
    (folder / "job.sh").write_bytes(b"#!/bin/bash\n#SBATCH --nodes=1\nsrun python train.py --config c.yaml\n")
    (folder / "c.yaml").write_bytes(b"epochs: 3\n")
    return path


def _longer(path: Path) -> None:
    path.write_bytes(path.read_bytes() + b"# more\n")


def _as_long(path: Path) -> None:
    path.write_bytes(path.read_bytes().replace(b"0.5", b"0.7"))


def _in_its_place(path: Path) -> None:
    other = path.with_suffix(".new")
    other.write_bytes(path.read_bytes().replace(b"0.5", b"0.7"))
    stamp = path.stat()
    os.utime(other, ns=(stamp.st_atime_ns, stamp.st_mtime_ns))
    other.rename(path)


def _old_time(path: Path) -> None:
    stamp = path.stat()
    path.write_bytes(path.read_bytes().replace(b"0.5", b"0.7"))
    os.utime(path, ns=(stamp.st_atime_ns, stamp.st_mtime_ns))


@pytest.mark.parametrize("change", [_longer, _as_long, _in_its_place, _old_time], ids=lambda one: one.__name__)
def test_a_file_that_changed_is_read(tmp_path: Path, change: Callable[[Path], None]) -> None:
    """However it was changed; the others are not."""
    path = _program(tmp_path)
    first = Files(str(tmp_path))
    read_files(submission(tmp_path), (), files=first)
    change(path)
    second = Files(str(tmp_path), known=kept(first))
    found = {one.name: one.value for one in read_files(submission(tmp_path), (), files=second).values}
    assert found["learning_rate"] == ("0.5" if change is _longer else "0.7")
    assert second.read == [str(path)]


@pytest.mark.parametrize(
    "text",
    [
        "", "{", "[]", "1", '["source","program","a",1,[]]', '["config","program","a",1,[[],""]]',
        '["source","program","a",1,[[[["lr"],"lr",0.5,3]],[],[],[],null,[],0,{}]]',
        '["source","program","a",1,[[],[],[],[],null,[],"x",{}]]',
        '["source","program","a",1,[[],[],[],[],null,[],0,[]]]',
        "[" * 100_000,
    ],
    ids=lambda one: one[:40],
)  # fmt: skip
def test_what_cannot_be_read_back_is_read_of_the_file(tmp_path: Path, text: str) -> None:
    """Whoever has kept it."""
    path = _program(tmp_path)
    first = Files(str(tmp_path))
    fresh = read_files(submission(tmp_path), (), files=first)
    broken = {name: one._replace(text=text) for name, one in kept(first).items()}
    second = Files(str(tmp_path), known=broken)
    assert read_files(submission(tmp_path), (), files=second) == fresh
    assert str(path) in second.read


def told(folder: Path, known: Any = (), site: Site = GENERIC_SLURM) -> dict[str, Any]:
    """What the child tells the daemon of a folder's job."""
    asked = submission(folder)
    frame = frames.pack_request(Request(bytes(16), bytes(32), asked, 1))
    question = {"record": "ab", "request": base64.b64encode(frame).decode(), "known": known}
    made: dict[str, Any] = json.loads(json.dumps(messages.read(question, site)))
    return made


def test_what_is_told_comes_back_as_what_is_known(tmp_path: Path) -> None:
    """Only what was read now is called read."""
    _program(tmp_path)
    first = told(tmp_path)
    assert sorted(first["read"]) == sorted(one[2] for one in first["parts"])
    again = told(tmp_path, first["looked"])
    assert (again["parts"], again["values"]) == (first["parts"], first["values"])
    assert again["read"] == []
    assert again["looked"] == first["looked"]


def test_what_the_child_reads_on_pbs_is_the_same(tmp_path: Path) -> None:
    """With the folder that the script enters."""
    _program(tmp_path)
    script = b"#!/bin/bash\n#PBS -l select=1\ncd $PBS_O_WORKDIR\nmpiexec -n 4 python train.py\n"
    (tmp_path / "job.sh").write_bytes(script)
    assert ["learning_rate", "0.5", "train.py"] in [one[:3] for one in told(tmp_path, site=GENERIC_PBS)["values"]]


def test_what_is_told_fits_its_frame(tmp_path: Path) -> None:
    """However many and long the files are; what there is no room for is read again."""
    lines = [b"import part%d\n" % at for at in range(12)]
    path = _program(tmp_path)
    path.write_bytes(b"".join(lines) + path.read_bytes())
    for at in range(12):
        options = b"".join(
            b'p.add_argument("--option-%d-%d", default="%s")\n' % (at, one, b"x" * 40) for one in range(900)
        )
        (tmp_path / ("part%d.py" % at)).write_bytes(options)
    found = told(tmp_path)
    assert len(json.dumps(found)) <= messages.MOST_TOLD
    assert len(found["parts"]) == 13
    assert any(one[3] for one in found["looked"]) and not all(one[3] for one in found["looked"] if one[2])


def test_a_file_whose_extract_holds_a_secret_is_kept_nowhere(tmp_path: Path) -> None:
    """It is read again each time."""
    path = _program(tmp_path)
    path.write_bytes(path.read_bytes() + b'p.add_argument("--token", default="hf_AbCdEfGhIjKlMnOpQrStUvWxYz012345")\n')
    rows = {row[0]: row for row in told(tmp_path)["looked"]}
    assert rows[str(path)][2] and not rows[str(path)][3]
    assert rows[str(tmp_path / "c.yaml")][3]


@pytest.mark.skipif(os.getuid() != 0, reason="becomes another user")
@pytest.mark.parametrize("service, believed", [("", False), ("12345", True), ("12346", False), ("x", False)])
def test_who_is_not_the_service_is_told_nothing(service: str, believed: bool) -> None:
    """Root, the user and the service's own uid are believed; whoever else listens there is not."""
    name = "\0maple-test-%d" % os.getpid()
    program = (
        "import os, socket, sys\n"
        "os.setresuid(12345, 12345, 12345)\n"
        "listening = socket.socket(socket.AF_UNIX); listening.bind(sys.argv[1].replace('@', chr(0)))\n"
        "listening.listen(); print(flush=True)\n"
        "one, _ = listening.accept(); said = one.recv(9)\n"
        "one.sendall(b'MPJ1' + (14).to_bytes(4, 'big') + b'{\"found\": true}'[:14]) if said else None\n"
        "print(len(said), flush=True); one.recv(1)\n"
    )
    words = ["/usr/bin/python3", "-c", program, name.replace("\0", "@")]
    with subprocess.Popen(words, stdout=subprocess.PIPE, stdin=subprocess.DEVNULL) as other:
        assert other.stdout is not None and other.stdout.readline() == b"\n"
        with pytest.raises((OSError, ValueError)):
            messages.Service(name, service).tell({"record": "ab"})
        assert (other.stdout.readline() == b"9\n") == believed
        other.kill()


LOCK = "maple-reading-" + hashlib.sha256(b"/run/x.sock").hexdigest()[:12]


def _there(folder: Path) -> None:
    """As it should be."""


def _open_to_all(folder: Path) -> None:
    folder.chmod(0o777)


def _gone(folder: Path) -> None:
    folder.rmdir()


def _a_link(folder: Path) -> None:
    folder.rmdir()
    folder.symlink_to("/")


def _lock_a_link(folder: Path) -> None:
    (folder / LOCK).symlink_to("../elsewhere")


def _lock_a_folder(folder: Path) -> None:
    (folder / LOCK).mkdir()


def _lock_a_pipe(folder: Path) -> None:
    os.mkfifo(folder / LOCK)


@pytest.mark.parametrize(
    "how",
    [_there, _open_to_all, _gone, _a_link, _lock_a_link, _lock_a_folder, _lock_a_pipe],
    ids=lambda one: one.__name__,
)
def test_a_user_has_one_process_that_reads(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, how: Callable[[Path], None]
) -> None:
    """While the lock is kept, nobody else gets it; a runtime folder that is not the user's alone is not used."""
    folder = tmp_path / "runtime"
    folder.mkdir(0o700)
    how(folder)
    monkeypatch.setattr(messages, "RUNTIME", str(folder).replace("%", "%%") + "%.0s")
    first = messages.alone(os.getuid(), "/run/x.sock")
    assert first is not None
    assert isinstance(first, socket.socket) == (how not in (_there, _lock_a_pipe))
    assert messages.alone(os.getuid(), "/run/x.sock") is None
    other = messages.alone(os.getuid(), "/run/y.sock")
    assert other is not None
    other.close()
    first.close()
    again = messages.alone(os.getuid(), "/run/x.sock")
    assert again is not None
    again.close()
    assert not (tmp_path / "elsewhere").exists()
