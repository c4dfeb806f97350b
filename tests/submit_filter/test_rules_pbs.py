"""The rules about a PBS request, held against what a real PBS took and refused, and the edits that say it otherwise."""

from __future__ import annotations

import glob
import os
import tempfile
from typing import Any, NamedTuple, Optional

import pytest
import tomllib
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from maple_agents.ask import sites
from maple_submit_filter.answer.decision import decide, examined, understood
from maple_submit_filter.answer.report import safety
from maple_submit_filter.cures.option_edits import Change, restate, say, unsay
from maple_submit_filter.host.bounded_file import read_file
from maple_submit_filter.rules import rules
from maple_submit_filter.site.facts import GENERIC_PBS, GENERIC_SLURM, Site
from maple_submit_filter.types.edits import Safety, apply, apply_argv
from maple_submit_filter.types.findings import Finding
from maple_submit_filter.types.job import Job
from maple_submit_filter.types.submission import Submission

from tests.case_files import CASES
from tests.reality.corpus import Case, lay
from tests.reality.corpus import cases as corpus
from tests.submit_filter.rule_cases import RuleCase, cases

MEASURED = os.path.join(CASES, "pbs")
OPENPBS = GENERIC_PBS._replace(id="openpbs", version=(23, 6))  # known not to be Torque
ABOUT_REQUESTS = ("MPL1", "MPL2", "MPL6")


class Row(NamedTuple):
    """One request that a real qsub, or its source, has answered."""

    says: str
    submission: Submission
    taken: bool
    text: str

    def __str__(self) -> str:
        return self.says


def submitted(script: bytes, *words: str, environment: Optional[dict[str, str]] = None) -> Submission:
    said = {"HOME": "/home/user"} if environment is None else environment
    variables = {os.fsencode(name): os.fsencode(value) for name, value in said.items()}
    argv = (b"qsub", *map(os.fsencode, words or ("job.sh",)))
    return Submission("pbs", argv, script, "file", b"job.sh", b"/work", 1000, variables)


def job_of(script: bytes, *words: str) -> Job:
    job = understood(submitted(script, *words), None)
    assert job is not None
    return job


def measured() -> list[Row]:
    """Return the rows of the tables that need no server set up in a way of its own."""
    found = [row for name in sorted(glob.glob(MEASURED + "/tables/*.toml")) for row in _rows(name)]
    with open(MEASURED + "/reading/refusals.toml", "rb") as file:
        for case in tomllib.load(file)["case"]:
            words = [word.replace("~", " ").replace("''", "") for word in case.get("words", "").split()]
            asked = submitted(case.get("script", "true\n").encode(), *words, "job.sh")
            found.append(Row(case.get("words", "a script"), asked, "text" not in case, case.get("text", "")))
    return [row for row in found if understood(row.submission, None) is not None]


def _rows(name: str) -> list[Row]:
    with open(name, "rb") as file:
        rows: list[dict[str, Any]] = tomllib.load(file).get("row", [])
    return [
        Row(row["says"], submitted(row.get("script", "true\n").encode(), *row["words"],
                                   environment=row.get("environment")), row["exit"] == 0, row.get("stderr", ""))
        for row in rows
        if "setup" not in row and "needs" not in row and "exit" in row and "job.sh" in row["words"]
    ]  # fmt: skip


def about_the_request(asked: Submission, site: Site) -> list[Finding]:
    job = understood(asked, None)
    assert job is not None
    return [one for one in examined(job, site).findings if one.code[:4] in ABOUT_REQUESTS]


@pytest.fixture(autouse=True)
def a_rule_that_fails_is_heard(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MAPLE_RULES_RAISE", "1")


ROWS = measured()


@pytest.mark.parametrize("row", [row for row in ROWS if row.taken], ids=str)
def test_nothing_is_held_against_what_a_real_pbs_takes(row: Row) -> None:
    assert [one for one in about_the_request(row.submission, OPENPBS) if one.proven] == []


FORMS = ("Illegal attribute", "cannot be used with", "Cannot be used with", "Cannot have", "duplicated resource",
         "Resource invalid", "node(s) specification", "directive error", "cr, lf", "illegal -")  # fmt: skip


@pytest.mark.parametrize("row", [row for row in ROWS if any(form in row.text for form in FORMS)], ids=str)
def test_what_a_real_pbs_refuses_for_its_form_is_told(row: Row) -> None:
    told = [one.says for one in about_the_request(row.submission, OPENPBS)]
    first = row.text.splitlines()[0].removeprefix("qsub: ").strip()
    assert any(first in says for says in told), told


def test_the_tables_have_rows_of_both_kinds() -> None:
    assert sum(row.taken for row in ROWS) > 40
    assert sum(any(form in row.text for form in FORMS) for row in ROWS) > 20


def test_a_rule_of_one_scheduler_is_silent_under_the_other() -> None:
    assert {one.code for one in rules() if one.scheduler == "pbs"} >= {"MPL215", "MPL216", "MPL602"}
    script = b"#!/bin/bash\n#SBATCH --nodes=2 --ntasks=1\n#PBS -l select=1\n#PBS -l ncpus=4\npython train.py\n"
    asked = submitted(script)
    slurm = asked._replace(scheduler="slurm", argv=(b"sbatch", b"job.sh"))
    job = understood(slurm, None)
    assert job is not None
    assert {one.code for one in examined(job, GENERIC_SLURM).findings} & {"MPL215", "MPL216"} == set()
    assert [one.code for one in about_the_request(asked, GENERIC_PBS)] == ["MPL216"]


def told_on_disk(case: Case, folder: str) -> list[Finding]:
    """Return what the rules about requests find in a script of the corpus, its files beside it and an empty home."""
    home, work = os.path.join(folder, "home"), os.path.join(folder, "work")
    os.mkdir(home)
    os.mkdir(work)
    lay(work, case.files)
    for name in ("train.py", "c.yaml"):
        open(os.path.join(work, name), "w").close()
    asked = submitted(case.script or b"", *case.words, environment={"HOME": home, **dict(case.environment)})
    site = GENERIC_PBS if case.site == GENERIC_PBS.id else sites.load(case.site)
    job = understood(asked._replace(cwd=os.fsencode(work)), read_file)
    assert job is not None
    return [one for one in examined(job, site).findings if one.code[:4] in ABOUT_REQUESTS and one.code != "MPL203"]


def test_nothing_is_held_against_right_and_tricky_scripts(tmp_path) -> None:  # type: ignore[no-untyped-def]
    told = 0
    for case in (*corpus("right", "pbs"), *corpus("tricky", "pbs")):
        found = told_on_disk(case, tempfile.mkdtemp(dir=tmp_path))
        assert [one for one in found if one.proven] == [], case.name
        told += bool(found)
    assert told <= 6, "advice that shows on many right scripts is noise"


def test_a_profile_that_changes_the_folder_leaves_all_unknown() -> None:
    case = next(one for one in cases() if (one.code, one.name) == ("MPL602", "a-launch-line"))

    def told(profile: bytes) -> list[str]:
        disk = {b"/work/train.py": b"", b"/home/user/.bash_profile": profile}
        job = understood(case.submission, disk.get)
        assert job is not None
        return [one.code for one in examined(job, GENERIC_PBS).findings if one.code == "MPL602"]

    assert told(b"# cd somewhere\nexport A=1\n") == ["MPL602"]
    assert told(b'[ -n "$PBS_O_WORKDIR" ] && cd "$PBS_O_WORKDIR"\n') == []


def test_no_sentence_about_a_pbs_job_speaks_of_sbatch() -> None:
    for case in cases():
        if case.submission.scheduler == "pbs" and case.code[:4] in ABOUT_REQUESTS:
            job = understood(case.submission, case.read)
            assert job is not None
            for one in examined(job, case.site).findings:
                if one.code[:4] in ABOUT_REQUESTS:
                    assert "sbatch" not in one.says + one.help, one.code


SAFE = [case for case in cases() if case.submission.scheduler == "pbs" and case.code in ("MPL105", "MPL216", "MPL602")
        and "proven safe" in "".join(case.expected) and case.fixed is not None]  # fmt: skip


@pytest.mark.parametrize("case", SAFE, ids=str)
def test_a_safe_fix_is_made_unasked_and_read_again(case: RuleCase) -> None:
    decision = decide(case.submission, case.site, case.read if case.disk is not None else None)
    if all(one.code == case.code and safety(one) == Safety.SAFE for one in decision.findings if one.proven):
        assert decision.repaired is not None, decision.held_back
        assert decision.repaired.script == case.fixed
        assert decision.repaired.argv == (case.fixed_argv or case.submission.argv)


def made(job: Job, change: Change) -> Job:
    source = apply(job.source, change.edits)
    assert source.count(b"\n") == job.source.count(b"\n")
    after = understood(
        job.submission._replace(script=source, argv=apply_argv(job.submission.argv, change.argv_edits)), None
    )
    assert after is not None and not after.script.refused
    return after


def said(job: Job) -> dict[str, bytes]:
    return {one.name: one.value for one in job.settings}


LINES = [b"#PBS -A proj", b"  #PBS -q debug  ", b"#PBS -l select=2:ncpus=4,walltime=1:00", b"#PBS -V", b"#PBS -hN name",
         b"#PBS -l 'walltime=2:00'", b'#PBS -l "mem=4gb,place=scatter"', b"#PBS -l \\\nplace=scatter", b"#PBS -j oe\\",
         b"#PBS -W block=true,umask=022", b"#PBS -l walltime=3:00 -m abe", b"#PBS", b"# a comment", b"##PBS -N off",
         b"#PBS -o 'a b'", b"#PBS-Nother", b"#PBS -l walltime", b": label", b"#PBS -v A=1,B=2"]  # fmt: skip
WORDS = [("-A", "line"), ("-lwalltime=9:00",), ("-l", "mem=1gb,walltime=8:00"), ("-k", "oe"), ("-hq", "queue"),
         ("-W", "umask=077,block=true"), ("-l", "select=1:ncpus=2+1:ncpus=1,place=free")]  # fmt: skip
scripts = st.lists(st.sampled_from(LINES), max_size=6).map(
    lambda lines: b"\n".join([b"#!/bin/bash", *lines, b"true", b""])
)
argvs = st.lists(st.sampled_from(WORDS), max_size=3).map(
    lambda words: [*(one for word in words for one in word), "job.sh"]
)
QUICK = settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


def readable(script: bytes, words: list[str]) -> Optional[Job]:
    job = understood(submitted(script, *words), None)
    return job if job is not None and not job.script.refused else None


@QUICK
@given(scripts, argvs)
def test_what_is_said_more_is_read_and_nothing_else_changes(script: bytes, words: list[str]) -> None:
    job = readable(script, words)
    if job is not None and "filesystems" not in job.settings:
        after = made(job, say(job, b"-l filesystems=home:eagle", "test"))
        assert said(after) == {**said(job), "filesystems": b"home:eagle"}


@QUICK
@given(scripts, argvs, st.data())
def test_what_is_taken_back_is_gone_and_nothing_else_changes(
    script: bytes, words: list[str], data: st.DataObject
) -> None:
    job = readable(script, words)
    if job is None or not said(job):
        return
    name = data.draw(st.sampled_from(sorted(said(job))))
    change = unsay(job, name, "test")
    if change is not None:
        after = made(job, change)
        assert said(after) == {other: value for other, value in said(job).items() if other != name}


@QUICK
@given(scripts, argvs, st.data())
def test_what_is_said_otherwise_is_read_so_and_nothing_else_changes(
    script: bytes, words: list[str], data: st.DataObject
) -> None:
    job = readable(script, words)
    if job is None or not said(job):
        return
    name = data.draw(st.sampled_from(sorted(said(job))))
    setting = job.settings.get(name)
    assert setting is not None
    change = restate(job, setting, b"other", "test") if name != "block" else None
    if change is not None and setting.value:
        assert said(made(job, change)) == {**said(job), name: b"other"}


def test_one_item_leaves_a_list_wherever_it_stands() -> None:
    for name, left in (("a", b"b=2,c=3"), ("b", b"a=1,c=3"), ("c", b"a=1,b=2")):
        job = job_of(b"#!/bin/bash\n#PBS -l a=1,b=2,c=3\ntrue\n")
        change = unsay(job, name, "test")
        assert change is not None
        assert apply(job.source, change.edits) == b"#!/bin/bash\n#PBS -l %s\ntrue\n" % left


def test_a_directive_that_goes_on_in_the_next_line_is_not_made_a_comment() -> None:
    job = job_of(b"#!/bin/bash\n#PBS -l \\\nplace=scatter\ntrue\n")
    assert unsay(job, "place", "test") is None


def test_a_prefix_of_ones_own_is_kept() -> None:
    job = job_of(b"#!/bin/bash\n#QQ -A proj\n#PBS -A other\ntrue\n", "-C", "#QQ", "job.sh")
    after = made(job, say(job, b"-l filesystems=home", "test"))
    assert after.source == b"#!/bin/bash\n#QQ -A proj -l filesystems=home\n#PBS -A other\ntrue\n"
    change = unsay(job, "account", "test")
    assert change is not None and b"\n##QQ -A proj\n" in apply(job.source, change.edits)


@pytest.mark.parametrize("ranks, place, code", [
    (8, "", "MPL301"), (3, "", "MPL301"), (2, "", None), (8, "#PBS -l place=scatter\n", "MPL301"), (1, "", "MPL303"),
])  # fmt: skip
def test_chunks_bound_the_nodes_that_nobody_knows(ranks, place, code):
    """Two chunks lie on two hosts at most: of three torchruns one host gets two, wherever the chunks are placed."""
    script = (
        "#!/bin/bash\n#PBS -l select=2:ncpus=8:mpiprocs=4:ngpus=4\n%s#PBS -l walltime=01:00:00\ncd $PBS_O_WORKDIR\n"
        "mpiexec -n %d torchrun --nnodes=2 --nproc_per_node=4 --rdzv_backend=c10d"
        " --rdzv_endpoint=$(head -1 $PBS_NODEFILE):29500 train.py\n" % (place, ranks)
    )
    findings = decide(submitted(script.encode()), GENERIC_PBS).findings
    assert {finding.code for finding in findings if finding.code.startswith("MPL30")} == ({code} if code else set())
    edits = [edit for finding in findings for fix in finding.fixes for edit in fix.edits]
    assert ranks <= 2 or not any(b"nnodes" in edit.new for edit in edits)  # a world of 32 on 8 GPUs was on offer
