"""`make demo`: the broken job of a plausible user, first by the bare sbatch, then by the one with Maple in front.

A real Slurm in the shape of a real site runs both. Nothing shown is canned: what is claimed at the end was counted in
what the processes of the job wrote down, and the exit code is 0 only if all of it was seen.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import shutil
import signal
import sys
import tempfile
import time
from pathlib import Path
from typing import Any, Iterator, Mapping, NamedTuple, Optional, Sequence

sys.path[:0] = [os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))]

from tests.lab.lab import Lab  # noqa: E402
from tests.lab.processes import LabError  # noqa: E402
from tests.lab.reality import facts_in, reasons_against  # noqa: E402
from tests.lab.screen import Screen, telling, typed  # noqa: E402
from tests.lab.sites import ROOT, shape_of_site  # noqa: E402

SCRIPTS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "demo")
MAPLE = os.path.join(os.path.dirname(sys.executable), "maple")
SUBMIT = ["sbatch", "train.sh"]  # typed twice, the same both times
PATIENCE = "3"  # seconds a stand-in waits for its peers; the lab's network takes milliseconds
LONGEST = 60.0  # seconds a job may take


class NotSeen(Exception):
    """Something that the demo claims did not happen."""


class Job(NamedTuple):
    """One submission and what came of it. *said*: what the user's terminal showed; *script*: as Slurm stored it."""

    id: int
    said: str
    script: bytes
    state: str
    exit_code: int
    seconds: float
    log: str
    facts: tuple[Mapping[str, Any], ...]


class Stage:
    """A lab, a user's folder in it, and a screen."""

    def __init__(self, lab: Lab, folder: str, site: str, screen: Screen) -> None:
        self.lab, self.folder, self.site, self.screen = lab, folder, site, screen
        self.prefix, self.work = f"{folder}/maple", f"{folder}/gpt2"
        self.front = ""  # the folder before all others on PATH, once Maple is there
        os.makedirs(self.work)
        shutil.copy(f"{SCRIPTS}/{site}.sh", f"{self.work}/train.sh")
        for name in ("train.py", "gpt2-medium.yaml"):
            shutil.copy(f"{SCRIPTS}/{name}", self.work)
        with open(f"{self.work}/train.sh", "rb") as file:
            self.own = file.read()

    def environment(self, **more: str) -> dict[str, str]:
        """Return what the user's shell on the login node has."""
        own = {"HOME": self.folder, "XDG_CACHE_HOME": f"{self.folder}/.cache", "XDG_STATE_HOME": f"{self.folder}/state"}
        made = self.lab.environment(True, MAPLE_DOUBLE_DEADLINE=PATIENCE, **own, **more)
        made["PATH"] = ":".join(filter(None, (self.front, made["PATH"])))
        return made

    def type(self, *argv: str, **more: str) -> tuple[int, str]:
        """Show a command and what it prints, as on the user's terminal."""
        self.screen.command(" ".join(argv).replace(self.folder, "~"))
        code, text = self.run(*argv, width=self.screen.width - 2, coloured=self.screen.coloured, **more)
        self.screen.output(text.replace(self.folder, "~"))
        return code, text

    def run(self, *argv: str, width: int = 100, coloured: bool = False, **more: str) -> tuple[int, str]:
        """Return the exit code of a command and what it prints on a terminal, stderr included."""
        program = MAPLE if argv[0] == "maple" else argv[0]
        return typed([program, *argv[1:]], self.environment(**more), self.work, width, coloured)

    def submit(self) -> Job:
        """Type the user's command, and follow the job to its end."""
        facts = tempfile.mkdtemp(dir=self.folder, prefix="facts-")
        begun = time.monotonic()
        code, said = self.type(*SUBMIT, MAPLE_FACTS=facts)
        words = [line.split()[-1] for line in said.splitlines() if line.startswith("Submitted batch job ")]
        require(code == 0 and len(words) == 1, f"sbatch took the job (exit code {code})")
        number = int(words[0])
        script = self.lab.script(number)
        state, exit_code = self.follow(number)
        seconds = time.monotonic() - begun
        self.screen.state(number, state, exit_code, seconds)
        return Job(number, said, script, state, exit_code, seconds, self.log(number), facts_in(facts))

    def follow(self, number: int) -> tuple[str, int]:
        """Wait for the end of a job; one that hangs is cancelled."""
        with self.screen.waiting(f"job {number} is on its way") as wait:
            until = time.monotonic() + LONGEST
            while number not in self.lab.ended():
                if time.monotonic() > until:
                    self.lab.cancel(number)
                    return "HANGS", -1
                now = self.lab.run(["squeue", "-h", "-j", str(number), "-o", "%T on %D nodes"]).stdout.strip()
                wait(f"job {number}: {now.lower() or 'ending'}")
                time.sleep(0.25)
        ended = self.lab.wait(number)
        return ended.state, ended.exit_code or ended.signal

    def log(self, number: int) -> str:
        """Return what the job printed."""
        with contextlib.suppress(OSError), open(f"{self.work}/gpt2-{number}.log", errors="replace") as file:
            return file.read()
        return ""

    def install(self) -> None:
        """Put Maple in front of the lab's sbatch, as an administrator does."""
        real = shutil.which("sbatch", path=self.environment()["PATH"])
        require(real, "Slurm's own sbatch is on PATH")
        self.front = f"{self.prefix}/bin"
        words = ["--prefix", self.prefix, "--bin", self.front, "--site", self.site, "--real-sbatch", str(real)]
        code, _ = self.type("maple", "admin", "install", *words)
        require(code == 0, f"Maple is installed (exit code {code})")
        # Five seconds in place of a quarter of one: a demo on a busy machine is to show the repair, not the deadline.
        with open(f"{self.prefix}/current/etc/front.conf", "a") as file:
            file.write("helper_ms=5000\n")
        found = shutil.which("sbatch", path=self.environment()["PATH"])
        require(found == f"{self.front}/sbatch", "a shell finds Maple's sbatch first")


def require(seen: object, what: str) -> None:
    """Raise `NotSeen` unless *seen*."""
    if not seen:
        raise NotSeen(what)


def play(stage: Stage) -> list[str]:
    """Play the demo, and return what was seen, in words. Raises `NotSeen`."""
    screen = stage.screen
    screen.heading("A user's script")
    screen.script(stage.own)
    screen.heading("Bare: sbatch train.sh")
    bare = stage.submit()
    screen.log(telling(bare.log))
    trained = sum(1 for fact in bare.facts if fact["ok"])
    screen.note(f"{trained} training processes ran to their end, on {expected(stage)} GPUs.")
    require(bare.script == stage.own, "the bare sbatch submits the user's own bytes")
    require(bare.state != "COMPLETED" or bare.exit_code, "the bare job fails")
    screen.heading("What Maple sees in it")
    code, _ = stage.type("maple", "check", "--site", stage.site, "train.sh")
    require(code == 1, "maple check finds it")
    screen.heading("With Maple in front: the same command")
    stage.install()
    mended = stage.submit()
    screen.log(telling(mended.log) or mended.log.splitlines()[-3:])
    screen.ranks(mended.facts, hosts(stage))
    screen.heading("What was submitted in its place")
    stage.type("scontrol", "write", "batch_script", str(mended.id), "submitted.sh")
    stage.type("tail", "-n", "1", "submitted.sh")
    stage.type("maple", "plan", "--site", stage.site, "submitted.sh")
    return seen(stage, bare, mended)


def seen(stage: Stage, bare: Job, mended: Job) -> list[str]:
    """Return what was seen, each as a sentence; raise `NotSeen` at the first that was not."""
    found = []
    for true, what in claims(stage, bare, mended):
        require(true, what)
        found.append(what)
    return found


def claims(stage: Stage, bare: Job, mended: Job) -> Iterator[tuple[object, str]]:
    """Yield what the demo is to show, each with whether it did; what comes later takes the earlier for granted."""
    whole, nodes, facts = expected(stage), hosts(stage), mended.facts
    yield bare.state != "COMPLETED" or bare.exit_code, f"job {bare.id}, by the bare sbatch: {bare.state}"
    yield (mended.state, mended.exit_code) == ("COMPLETED", 0), f"job {mended.id}, by the same command: COMPLETED"
    yield not reasons_against(mended.state, mended.exit_code, facts), "every process trained, and met the others"
    yield len({fact["world_id"] for fact in facts}) == 1, "all of them in one world"
    ranks = sorted(fact["rank"] for fact in facts)
    yield ranks == list(range(whole)), f"each rank from 0 to {whole - 1} exactly once"
    places = sorted((fact["host"], fact["device"]) for fact in facts)
    gpus = sorted((host, gpu) for host, count in nodes.items() for gpu in range(count))
    yield places == gpus, f"all {whole} GPUs of {len(nodes)} nodes, one rank on each"
    yield foretold(stage, "submitted.sh") == [(whole, whole)], f"maple plan foretold one world of {whole}"
    yield Path(stage.work, "train.sh").read_bytes() == stage.own, "the user's own file is as it was"
    code, _ = stage.run("maple", "check", "--site", stage.site, "submitted.sh")
    yield code == 0, "in what was submitted nothing is left to mend"


def foretold(stage: Stage, path: str) -> list[tuple[int, int]]:
    """Return of each world that the plan of a script names its size, and the processes it counts."""
    _, text = stage.run("maple", "plan", "--json", "--site", stage.site, path)
    groups = [group for step in json.loads(text)["steps"] for group in step["groups"]]
    return [(group["world_size"], len(group["processes"])) for group in groups]


def hosts(stage: Stage) -> dict[str, int]:
    """Return the nodes that the jobs may have, each with its GPUs: the script asks for all of them."""
    main = max(stage.lab.shape.groups, key=lambda group: (group.gpus > 0, group.count))
    return {host: main.gpus for host in main.hosts()}


def expected(stage: Stage) -> int:
    """Return how many ranks there ought to be."""
    return sum(hosts(stage).values())


@contextlib.contextmanager
def stage(site: str, screen: Screen) -> Iterator[Stage]:
    """Set the stage, and clear it away whatever happened on it."""
    with contextlib.ExitStack() as kept:
        begun = time.monotonic()
        with screen.waiting(f"starting a Slurm in the shape of {site}"):
            lab = kept.enter_context(Lab(shape_of_site(site)))
        folder = kept.enter_context(tempfile.TemporaryDirectory(prefix="maple-demo-"))
        os.chmod(folder, 0o755)
        made = Stage(lab, folder, site, screen)
        screen.note(f"A real Slurm in the shape of {site}: {len(hosts(made))} nodes, {expected(made)} GPUs, up in "
                    f"{time.monotonic() - begun:.1f} s. The launchers are stand-ins that start and connect what the "
                    "real ones would; they train nothing.")  # fmt: skip
        yield made


def main(words: Optional[Sequence[str]] = None) -> int:
    """Play the demo; 0 if all was seen, 1 if something was not, 2 for a site that has no script here."""
    sites = sorted(name[:-3] for name in os.listdir(SCRIPTS) if name.endswith(".sh"))
    asked = argparse.ArgumentParser(prog="demo", description=__doc__.splitlines()[0])
    asked.add_argument("site", nargs="?", default="ncsa-delta", choices=sites, help="default: ncsa-delta")
    site = asked.parse_args(words).site
    screen, begun = Screen(), time.monotonic()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # so that the lab goes then, too
    os.chdir(ROOT)
    try:
        with stage(site, screen) as made:
            shown = play(made)
    except (NotSeen, LabError, OSError, TimeoutError) as error:
        screen.failure(f"demo: not seen: {error}" if isinstance(error, NotSeen) else f"demo: {error}")
        return 1
    except KeyboardInterrupt:
        return 130
    screen.heading("Seen")
    screen.claims(shown, time.monotonic() - begun)
    return 0


if __name__ == "__main__":
    sys.exit(main())
