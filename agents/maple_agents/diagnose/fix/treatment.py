"""From the first cause to what cures it: remedies that hold, fixes that were made and checked, and the rules' own."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from typing import NamedTuple, cast

from maple_submit_filter.answer.decision import Decision, Rewritten, at_home, decide, examined, understood
from maple_submit_filter.bash.check import parses
from maple_submit_filter.host.bounded_file import read_file
from maple_submit_filter.repair.offers import differences
from maple_submit_filter.site.facts import Site
from maple_submit_filter.types.edits import Conflict, Fix, apply, apply_argv
from maple_submit_filter.types.job import Job, Read
from maple_submit_filter.types.submission import Submission

from ...templates.knowledge.entries import Entry, Fact, Remedy, holds
from ..diagnosis import filled
from ..local_advice import all_spoken, foreign, spoken
from ..recognise.log_facts import facts
from ..values import Cause, Cure, Diagnosis, Digest, Safeness
from .kinds.insertion import without_footer
from .registry import MADE, Given

AS_CHECKED = "as-checked"
REFUSED = "invalid_partition_account_qos"  # the class of what only another request cures
_CODE = re.compile(r"\bMPL\d{3} ")
BUYS = "%s, where that is what was meant; else let the launch line wait for the nodes that the job has"


def cures(
    diagnosis: Diagnosis, digest: Digest, decision: Decision | None, known: Mapping[str, Entry]
) -> tuple[Cure, ...]:
    """Return what would cure the first cause, the best first; () where nothing is known to help, or all is well.

    What the rules mend of the script comes as well where the cause is another, or unknown: a copy that is proven wrong
    helps nobody.
    """
    first = diagnosis.causes[0]
    if first.cause == "none":
        return ()
    entry = known.get(first.entry)
    given = _facts(diagnosis, digest, decision, known)
    here = diagnosis.case.scheduler
    remedies = [
        remedy for remedy in (entry.fixes if entry else ()) if not remedy.when or holds(remedy.when, given) is True
    ]
    remedies = [remedy for remedy in remedies if spoken(remedy.says, here) and not _takes_back_nothing(remedy, given)]
    made = [_cure(remedy, first, diagnosis, digest, decision, given) for remedy in remedies]
    if not any(_changes(cure) for cure in made):
        usual = (_usual(remedy, first, diagnosis, digest, given) for remedy in USUAL.get(first.cause, ()))
        made += [cure for cure in usual if _changes(cure)][:1]
    checked = _as_checked(decision, diagnosis)
    said_already = (
        checked is not None and not _changes(checked) and any(remedy.how == AS_CHECKED for remedy in remedies)
    )
    if checked is not None and not said_already and not any(_changes(cure) for cure in made):
        made.append(checked)
    elif checked is not None and not said_already and checked.safety != "safe":  # safe ones stand in every copy already
        made.append(replace(checked, says="besides, %s" % checked.says))
    return tuple(cure for cure in _ordered(made) if cure is checked or not foreign(cure.says, here))


def tried(
    how: str, give: Mapping[str, str | int | float], cause: Cause, plain: Cure, diagnosis: Diagnosis, digest: Digest,
    given: Mapping[str, Fact],
) -> Cure:  # fmt: skip
    """Return *plain* with the change that the typed fix *how* makes, where it can be made and passes every check.

    What fails a check, or fails by a mistake in the fix itself, comes back as `held_back`: a diagnosis is worth more.
    """
    maker, asked = MADE.get(how), diagnosis.case.asked
    site = at_home(asked, diagnosis.case.site) if asked is not None else None
    if maker is None or asked is None or asked.script is None or site is None:
        return plain

    def made_of(submission: Submission) -> Fix | None:
        job, first = understood(submission, reader(submission)), understood(asked, reader(asked))
        if job is None or first is None:
            return None
        plan = examined(job, site).plan
        return maker(Given(diagnosis.case, job, first, plan, site, digest, given, cause, give))

    try:
        return _checked(plain, made_of, asked, diagnosis)
    except Exception as error:
        return replace(plain, held_back="a mistake of Maple's own (%s)" % type(error).__name__)


def _checked(plain: Cure, made_of: Callable[[Submission], Fix | None], asked: Submission, diagnosis: Diagnosis) -> Cure:
    fix = made_of(asked)
    after = changed(asked, fix) if fix is not None else None
    if fix is None or after is None:
        return plain
    wrong = objection(asked, after, diagnosis.case.site)
    if wrong:
        return replace(plain, held_back=wrong)
    again = made_of(after)
    if again is not None and changed(after, again) is not None:
        return replace(plain, held_back="applying it twice would change the script twice")
    return _whole(plain, fix, after, diagnosis)


def _facts(
    diagnosis: Diagnosis, digest: Digest, decision: Decision | None, known: Mapping[str, Entry]
) -> Mapping[str, Fact]:
    """Return the facts that remedies' conditions name; the signs are the causes that were found."""
    entries = [cause.entry for cause in diagnosis.causes if cause.entry in known]
    signs = tuple(sorted({*entries, *(known[entry].cause for entry in entries)}))
    return {**facts(diagnosis.case, digest, decision), "signs": signs}


def _takes_back_nothing(remedy: Remedy, given: Mapping[str, Fact]) -> bool:
    """Return whether it names a variable to unset that nothing sets, as far as can be seen."""
    known, name = given.get("job.set"), str(remedy.give.get("name"))
    return remedy.how == "unset-env" and name in remedy.says and isinstance(known, tuple) and name not in known


def _ordered(made: Iterable[Cure]) -> Iterator[Cure]:
    """Yield what changes the script first; what people have to do comes after it, each said once."""
    seen: set[object] = set()
    for cure in sorted(made, key=lambda cure: not _changes(cure)):
        key = (cure.script, cure.argv) if _changes(cure) else cure.says
        if key not in seen:
            seen.add(key)
            yield cure


def _cure(
    remedy: Remedy, cause: Cause, diagnosis: Diagnosis, digest: Digest, decision: Decision | None,
    given: Mapping[str, Fact],
) -> Cure:  # fmt: skip
    here = diagnosis.case.scheduler
    steps = tuple(filled(step, cause.values) for step in all_spoken(remedy.steps, here))
    plain = Cure(remedy.kind, filled(spoken(remedy.says, here), cause.values), steps=steps)
    if remedy.how != AS_CHECKED:
        return tried(remedy.how, remedy.give, cause, plain, diagnosis, digest, given)
    checked = _as_checked(decision, diagnosis)
    if checked is None or (cause.cause == REFUSED and not _asks_otherwise(checked, diagnosis.case.asked)):
        return plain
    return replace(checked, kind=remedy.kind, says="%s: %s" % (plain.says, checked.says), steps=steps)


def _asks_otherwise(cure: Cure, asked: Submission | None) -> bool:
    """Return whether a cure makes the request another one: no other change cures what the scheduler refuses."""
    if asked is None or not _changes(cure):
        return True
    before, later = _both(asked, cure.script, cure.argv or asked.argv)
    return before is None or later is None or any(differences(before, later))


def _usual(usual: Usual, cause: Cause, diagnosis: Diagnosis, digest: Digest, given: Mapping[str, Fact]) -> Cure:
    return tried(usual.how, usual.give, cause, Cure(usual.kind, ""), diagnosis, digest, given)


def _changes(cure: Cure) -> bool:
    return cure.script is not None or cure.argv is not None


def _whole(plain: Cure, fix: Fix, after: Submission, diagnosis: Diagnosis) -> Cure:
    """Return the cure that a fix is, with what the rules mend of its script safely.

    Maple would mend that at the submission anyway, and a copy may be submitted where Maple is not.
    """
    asked = diagnosis.case.asked
    assert asked is not None
    mended = decide(after, diagnosis.case.site, reader(after)).repaired
    script, argv, says = after.script, after.argv, [] if fix.says in plain.says else [fix.says]
    if mended is not None:
        script, argv = mended.script if mended.script is not None else script, mended.argv
        says += mended.says
    return replace(
        plain,
        says=": ".join(filter(None, [plain.says, "; ".join(says)])),
        safety=cast("Safeness", fix.safety),  # types/edits.Safety: these three words
        script=without_footer(script) if script is not None and script != asked.script else None,
        argv=argv if argv != asked.argv else None,
        fix=fix,
    )


def _as_checked(decision: Decision | None, diagnosis: Diagnosis) -> Cure | None:
    """Return what `maple check` would submit, or offers, as a cure; None where it has nothing to change."""
    better = (decision.repaired or decision.offered) if decision else None
    if decision is None or better is None:
        return None
    return _of_rules(better, "safe" if better is decision.repaired else "ask", diagnosis)


def _of_rules(better: Rewritten, safety: Safeness, diagnosis: Diagnosis) -> Cure:
    asked = diagnosis.case.asked
    argv = better.argv if asked and better.argv != asked.argv else None
    says = "; ".join(better.says)
    if asked is not None and _buys_nodes(asked, better):
        return Cure("script_directive", BUYS % _CODE.sub("", says))
    script = without_footer(better.script) if better.script is not None else None
    return Cure("script_launch_line", says, safety, script, argv)


def _buys_nodes(asked: Submission, better: Rewritten) -> bool:
    """Return whether the job would ask for more nodes: what that costs is not for Maple to say."""
    jobs = _both(asked, better.script, better.argv)
    counts = [job.settings.value("nodes") if job is not None else None for job in jobs]
    old, new = (int(count) if count and count.isdigit() else 0 for count in counts)
    return new > old > 0


def _both(asked: Submission, script: bytes | None, argv: tuple[bytes, ...]) -> tuple[Job | None, Job | None]:
    """Return the job as it was submitted, and as it would be with another script, None for the same, and *argv*."""
    after = asked._replace(script=script if script is not None else asked.script, argv=argv)
    return understood(asked, reader(asked)), understood(after, reader(after))


# What cures most jobs of a class: tried where no remedy of the entry changes the script.


class Usual(NamedTuple):
    """A typed fix with its arguments, and the kind of fix that it is."""

    how: str
    kind: str
    give: Mapping[str, str] = {}


USUAL: Mapping[str, tuple[Usual, ...]] = {
    "port_in_use": (Usual("port-of-job", "script_env"),),
    "rendezvous_timeout_master_unreachable": (
        Usual("master-of-job", "script_env"),
        Usual("first-node", "script_env"),
    ),
    "hostname_resolution": (Usual("first-node", "script_env"),),
    "wrong_world_size_or_rank": (
        Usual("ranks-of-tasks", "script_launch_line"),
        Usual("near-variable", "script_launch_line"),
    ),
    "srun_step_request": (Usual("step-of-whole-allocation", "script_launch_line"),),
    "deepspeed_hostfile_or_ssh": (Usual("deepspeed-over-srun", "script_launch_line"),),
    "invalid_partition_account_qos": (Usual("correct-value", "script_directive"),),
    "launcher_bad_option": (
        Usual("near-option", "script_launch_line"),
        Usual("near-variable", "script_launch_line"),
    ),
    "code_error": (
        Usual("bash-shebang", "script_launch_line"),
        Usual("close-quote", "script_launch_line"),
        Usual("near-variable", "script_launch_line"),
    ),
    "container_error": (Usual("option-before-image", "script_launch_line"),),
    "mpi_not_enough_slots": (Usual("slots-of-launch", "script_directive"),),
    "backend_unsupported_on_hardware": (Usual("request-gpus", "script_directive"),),
    "data_or_config_error": (Usual("near-variable", "script_launch_line"),),
    "dos_line_endings": (Usual("unix-line-endings", "script_launch_line"),),
    "file_not_found": (
        Usual("near-path", "script_launch_line", {"what": "{path}"}),
        Usual("correct-value", "script_directive", {"what": "output"}),
    ),
    "permission_denied": (Usual("correct-value", "script_launch_line", {"what": "{path}"}),),
    "wrong_interpreter_or_env": (
        Usual("conda-functions", "script_env"),
        Usual("replace-python", "script_env"),
    ),
    "missing_python_module": (Usual("replace-python", "script_env"),),
    "launcher_not_found": (Usual("module-of-site", "script_env", {"what": "{name}"}),),
}


# A typed fix is believed when the script that it gives passes the checks of a submission, and once is enough.

# A payload at the end of a script is cut out by its first line's number.
_COUNTS = re.compile(rb"\b(?:tail|sed|awk|head|perl|python\d?)\b[^\n]*(?:\$0|\$\{0\}|BASH_SOURCE)")


def reader(asked: Submission) -> Read | None:
    """Return what reads files that the script names: for one's own jobs alone, as root may read what others may not."""
    return read_file if asked.uid == os.getuid() else None


def changed(asked: Submission, made: Fix) -> Submission | None:
    """Return the submission with a fix made, None where its edits do not fit each other, or change nothing."""
    try:
        script = apply(asked.script or b"", made.edits)
        argv = apply_argv(asked.argv, made.argv_edits)
    except (Conflict, IndexError):
        return None
    if script == asked.script and argv == asked.argv:
        return None
    return asked._replace(script=script, argv=argv)


def objection(before: Submission, after: Submission, site: Site) -> str:
    """Return why a changed submission may not be offered, "" where nothing speaks against it."""
    if after.script is None or not parses(after.script) and _must_parse(before.script or b"", after.script):
        return "bash would reject the script"
    if (before.script or b"").count(b"\n") != after.script.count(b"\n") and _COUNTS.search(after.script):
        return "the script reads itself by its lines' numbers"
    if any(byte < 32 and byte not in b"\t\n\r\f\x1b" and byte not in (before.script or b"") for byte in after.script):
        return "a control character would stand in the script"
    if _of_the_other(after) - _of_the_other(before):
        return "it would need what only another scheduler has"
    if understood(after, reader(after)) is None:
        return "the scheduler's command would not read it as a job"
    known = proven(decide(before, site, reader(before)))
    new = {
        finding.code: finding
        for finding in decide(after, site, reader(after)).findings
        if finding.proven and finding.code not in known
    }
    says = ["%s (%s)" % (new[code].says, code) for code in sorted(new)]
    return "it would be wrong in another way: %s" % "; ".join(says) if new else ""


def _of_the_other(asked: Submission) -> frozenset[str]:
    """Return the words in a submission that only the scheduler has which it is not for."""
    text = b"\n".join((asked.script or b"", *asked.argv[1:])).decode("utf-8", "replace")
    return foreign(text, asked.scheduler)


def _must_parse(before: bytes, after: bytes) -> bool:
    """A script that bash took must be one that it takes; so must one whose line ends were all that was wrong."""
    return parses(before) or b"\r" in before and b"\r" not in after


def proven(decision: Decision) -> set[str]:
    """Return the codes of the rules that find the script contradicted."""
    return {finding.code for finding in decision.findings if finding.proven}
