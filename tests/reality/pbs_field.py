"""Cases of PBS run on labs in the shape of their sites, several at a time, each on a lab of its own.

A PBS lab is up in a tenth of a second, so that nothing is shared: no port, no file, no process of another case.
"""

from __future__ import annotations

import os
import tempfile
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from typing import Sequence

from tests.pbs_lab import Ended, PbsLab, PbsShape, Submitted
from tests.pbs_lab.sites import shape_of_site
from tests.reality.corpus import Case
from tests.reality.field import DEADLINE, Ran, Work, facts, lay_out, logs

LABS = 6  # at a time; most of the time a wrong line only waits
LIMIT = 40.0  # seconds a job may take
LAUNCHERS = ("hydra", "pals", "openmpi")


@cache
def shape_of(site: str, launcher: str = "") -> PbsShape:
    """Return the shape of a site's lab; *launcher* chooses whose mpiexec a site that nobody described has."""
    shape = shape_of_site(site, hosts=4)
    return shape._replace(launcher=launcher) if launcher in LAUNCHERS else shape


def run_all(works: Sequence[Work], *, labs: int = LABS, deadline: str = DEADLINE) -> list[Ran]:
    """Return what each case did, in order. *deadline*: seconds that stand-ins wait for each other."""
    with ThreadPoolExecutor(max(1, labs)) as pool:
        return list(pool.map(lambda work: _ran(work, deadline), works))


def _ran(work: Work, deadline: str) -> Ran:
    case = work.case
    told = dict(case.environment)
    with tempfile.TemporaryDirectory(prefix="maple-pbs-") as folder:
        cwd = lay_out(work, os.path.join(folder, "job"))
        with PbsLab(shape_of(case.site, told.pop("MAPLE_MPI", ""))) as lab:
            lab.tell(MAPLE_FACTS=os.path.join(cwd, "facts"), MAPLE_DOUBLE_DEADLINE=deadline, **_for_stand_ins(told))
            words = [case.file_name if word == "{}" else word for word in case.words]
            env = lab.environment(**{name: value for name, value in told.items() if not name.startswith("MAPLE_")})
            sent = lab.qsub(*words, cwd=cwd, env=env, stdin=(case.script or b"") if case.stdin else b"")
            if sent.id is None:
                return Ran(case, "REFUSED", sent.returncode, (), sent.stderr + sent.stdout, lab.addresses)
            ended = lab.run(sent.id, LIMIT)
            return _told(case, sent, ended, lab, cwd)


def _for_stand_ins(told: dict[str, str]) -> dict[str, str]:
    return {name: value for name, value in told.items() if name.startswith("MAPLE_")}


def _told(case: Case, sent: Submitted, ended: Ended, lab: PbsLab, cwd: str) -> Ran:
    output = "\n".join([ended.stdout, ended.stderr, ended.comment, logs(cwd, r"\.(out|err|log)$|^log")])
    reported = facts(os.path.join(cwd, "facts"))
    return Ran(case, ended.state, ended.exit_code, reported, output, lab.addresses, tuple(dict.fromkeys(ended.nodes)))
