"""From a diagnosis to its cures: which remedy is taken, what the rules add, and what is held back."""

from __future__ import annotations

from dataclasses import replace

from maple_agents.diagnose.fix import MADE, cures
from maple_agents.diagnose.fix.kinds.insertion import without_footer
from maple_agents.diagnose.values import Case, Cause, Diagnosis, Digest, Ended
from maple_agents.templates.knowledge.entries import Entry, Remedy
from maple_submit_filter.answer.decision import decide
from maple_submit_filter.answer.trailer import close

from .fix_cases import difference, site, submission

GOOD = "#!/bin/bash\n#SBATCH --nodes=1 --time=10\nsrun python a.py\n"
# Every node takes itself for node 0: proven wrong, and mended safely by giving each its own rank.
REFUSED = "invalid_partition_account_qos"
WRONG = (
    "#!/bin/bash\n#SBATCH --nodes=2 --ntasks-per-node=1 --time=10\n"
    'export MASTER_ADDR=$(scontrol show hostnames "$SLURM_JOB_NODELIST" | head -n 1)\n'
    "srun torchrun --nnodes=2 --nproc-per-node=4 --node-rank=$SLURM_NODEID --master-addr=$MASTER_ADDR a.py\n"
)


def entry(*fixes, cause="time_limit"):
    """Return an entry with these remedies."""
    return Entry(cause=cause, says="it ended", sources=["here"], fixes=list(fixes), match=["x"])


def remedy(how="", **more):
    """Return a remedy."""
    return Remedy(kind="script_directive", says=more.pop("says", "do {what}"), how=how, **more)


def cured(script, one, cause="time_limit", ended=None, **values):
    """Return the cures of a job whose first cause is *one*."""
    asked = submission(script.encode()) if script else None
    case = Case(ended or Ended(), "slurm", site("", "slurm"), asked)
    found = Diagnosis(case, (Cause("one" if one else "", cause, "says", 9.0, 0.9, (), values),))
    decision = decide(asked, case.site) if asked else None
    return cures(found, Digest(), decision, {"one": one} if one else {})


def test_first_remedy_that_holds_changes_the_script_and_stands_first():
    """Steps come behind what changes the script, and say what the log named."""
    made = cured(GOOD, entry(remedy(steps=["see {what}"]), remedy("raise-walltime")), what="it")
    assert [one.script is not None for one in made] == [True, False]
    assert difference(GOOD, made[0].script)[1] == "+#SBATCH --nodes=1 --time=00:20:00"
    assert made[1].says == "do it" and made[1].steps == ("see it",)


def test_remedy_whose_condition_does_not_hold_is_left_out():
    """What is not known fulfils no condition."""
    assert cured(GOOD, entry(remedy("raise-walltime", when={"job.state": "timeout"}))) == ()
    assert cured(GOOD, entry(remedy("raise-walltime", when={"job.state": "timeout"})), ended=Ended(state="timeout"))


def test_without_a_script_there_are_steps_only():
    """A log alone changes nothing."""
    (made,) = cured("", entry(remedy("raise-walltime", steps=["ask for more time"])))
    assert made.script is None and made.argv is None and made.steps == ("ask for more time",)


def test_success_and_the_unknown():
    """A job that succeeded has no cures; of one that nobody understands the rules' own, where there are any."""
    assert cured(WRONG, None, "none") == ()
    assert cured(GOOD, None, "unknown") == ()
    (made,) = cured(WRONG, None, "unknown")
    assert made.script is not None and made.says.startswith("MPL304")


def test_a_fixed_copy_is_mended_as_a_submission_would_be():
    """Maple would repair the copy when it is submitted; the edits of the fix are those of the submitted script."""
    (made,) = cured(WRONG, entry(remedy("raise-walltime")))
    lines = difference(WRONG, made.script)
    assert "+#SBATCH --nodes=2 --ntasks-per-node=1 --time=00:20:00" in lines
    assert len(lines) == 4 and "MPL3" in made.says
    assert [one.new for one in made.fix.edits] == [b"00:20:00"]


def test_rules_cure_what_they_prove():
    """`as-checked` is what `maple check` would submit, with the remedy's own words."""
    (made,) = cured(WRONG, entry(remedy("as-checked", says="mend it", steps=["or so"]), cause="unknown"))
    assert made.script is not None and made.says.startswith("mend it: MPL3") and made.steps == ("or so",)


def test_what_the_scheduler_refuses_is_cured_by_another_request_alone():
    """A launch line that is wrong as well is mended besides, and is not called what the cluster takes."""
    asked_for = cured(WRONG, entry(remedy("as-checked", says="ask for less"), cause=REFUSED), REFUSED)
    assert [one.says.partition(":")[0] for one in asked_for if one.script is not None] != ["ask for less"]
    assert any(one.script is not None and "MPL3" in one.says for one in asked_for)


def test_where_the_rules_find_nothing_the_usual_fix_of_the_class_is_made():
    """`as-checked` on a script that is not wrong, or a remedy that is for people: their steps come behind it."""
    one = "#!/bin/bash\n#SBATCH --nodes=1\ntorchrun --nproc-per-node=2 --master-port=29500 a.py\n"
    made = cured(one, entry(remedy("as-checked", steps=["see who listens"])), "port_in_use")
    assert b"--master-port=$((" in made[0].script and made[1].steps == ("see who listens",)
    assert cured(one, entry(remedy("")), "port_in_use")[0].says == "the port is derived from the job id"
    assert cured(GOOD, entry(remedy("as-checked")), "code_error")[0].script is None


def test_fix_that_nobody_made_is_steps():
    """An unknown name is no error: a site's own entries may be newer than the program."""
    assert cured(GOOD, entry(remedy("turn-it-off-and-on")))[0].script is None


def test_footer_of_an_earlier_copy_is_left_out():
    """It told of that submission; a line that only looks so stays."""
    closed = close(GOOD.encode(), ["MPL301"], "abc", "0" * 64)
    (made,) = cured(closed.decode(), entry(remedy("raise-walltime")))
    assert made.script == GOOD.replace("--time=10", "--time=00:20:00").encode()
    assert without_footer(b"echo # maple: repaired (x)\n") == b"echo # maple: repaired (x)\n"
    footer = b"# maple: repaired (MPL301); record 0011223344556677; original sha256 %s;" % (b"ab" * 32)
    footer += b" MAPLE=off sbatch ... submits as written"
    wrapped = b"#!/bin/sh\n# This script was created by sbatch --wrap.\n\nsrun x"
    assert without_footer(wrapped + b" " + footer + b"\n") == wrapped + b"\n"
    assert without_footer(b'echo "' + footer + b'"\n') == b'echo "' + footer + b'"\n'
    inside = GOOD.encode() + b"x=" + closed[len(GOOD) :]
    assert without_footer(inside) == inside


def test_job_of_somebody_else_is_read_no_further():
    """Nothing that the script names is opened; the fix of the script itself is made."""
    asked = submission(b"#!/bin/bash\n#SBATCH --time=10\n. /etc/passwd\nsrun python a.py\n")._replace(uid=4242)
    case = Case(Ended(), "slurm", site("", "slurm"), asked)
    found = Diagnosis(case, (Cause("one", "time_limit", "says", 9.0, 0.9),))
    made = cures(found, Digest(), None, {"one": entry(remedy("raise-walltime"))})
    assert made[0].script is not None
    assert cures(replace(found, causes=(replace(found.causes[0], entry=""),)), Digest(), None, {}) == ()


def test_mistake_in_a_fix_costs_no_diagnosis(monkeypatch):
    """What goes wrong in one fix is told, and the others are made."""

    def broken(_):
        raise IndexError("pieces")

    monkeypatch.setitem(MADE, "raise-memory", broken)
    made = cured(GOOD, entry(remedy("raise-memory"), remedy("raise-walltime")))
    assert made[0].script is not None and made[1].held_back == "a mistake of Maple's own (IndexError)"


def test_a_limit_that_no_option_set_is_told_as_the_partition_s():
    """Who typed no --time reads where the limit came from."""
    ended = Ended(state="timeout", limit=600.0)
    (made, *_) = cured(GOOD.replace(" --time=10", ""), entry(remedy("raise-walltime")), ended=ended, what="it")
    assert "the script sets none, and the partition gave 00:10:00" in made.says
    (made, *_) = cured(GOOD, entry(remedy("raise-walltime")), ended=ended, what="it")
    assert made.says.endswith("the time limit is 00:20:00 in place of 00:10:00")
