"""Commands of another shell than the one that reads the script."""

from __future__ import annotations

import re
from typing import Iterator, Optional, Tuple

from ...cures.option_edits import at, restate
from ...request.scheduler_words import is_pbs
from ...site.facts import Site
from ...types.edits import Edit, Fix, Safety, Span
from ...types.findings import Finding
from ...types.job import Job
from ...types.launch_plan import LaunchPlan
from .. import rule

_C_SHELLS = (b"csh", b"tcsh")
_OF_BASH = (
    rb"(?m)^[ \t]*(?:export[ \t]+\w+=\S|[A-Za-z_]\w*=[^\s=]"
    rb"|if[ \t]+\[[^\n]*;[ \t]*then|for[ \t]+\w+[ \t]+in[^\n]*;[ \t]*do)"
)
_OF_CSH = (
    rb"(?m)^[ \t]*(?:(?P<env>setenv)[ \t]+(?P<name>\w+)[ \t]+(?P<value>\"[^\"\n]*\"|'[^'\n]*'|[^\s;#\"']+)"
    rb"|(?P<set>set)[ \t]+(?P<own>[A-Za-z_]\w*)[ \t]*=[ \t]*(?P<given>\"[^\"\n]*\"|'[^'\n]*'|[^\s;#\"'()]+)"
    rb"|(?P<each>foreach)[ \t]+\w+[ \t]*\()"
)


_OWN_OF_CSH = rb"(?m)>&[ \t]*!|>[ \t]+&|^[ \t]*(?:setenv[ \t]|set[ \t]+\w+[ \t]*=|foreach[ \t]|endif\b|end[ \t]*$)"
_EXPORT = rb"(?m)^[ \t]*(export[ \t]+(\w+)=(\"[^\"\n]*\"|'[^'\n]*'|[^\s;#\"'`(]+))[ \t]*$"


@rule("MPL120", "commands of another shell")
def check(plan: LaunchPlan, job: Job, site: Site) -> Iterator[Finding]:
    """bash has no setenv, and the C shell has no export: what the script sets is not set.

    Wrong: #!/bin/bash ... setenv MASTER_PORT 29500, or set NODES = 2
    Wrong: #!/bin/tcsh ... export MASTER_PORT=29500
    Wrong: #PBS -S /bin/tcsh over a script that is written for bash
    Right: export MASTER_PORT=29500; #PBS -S /bin/bash
    Why:   the shell says: setenv: command not found, or export: Command not found, and goes on without it; `set NODES =
           2` makes NODES, = and 2 the arguments of the script. Where `#!` names bash all the same, OpenPBS goes by that
           line and other systems by -S. Where most is the C shell's, it is the export that becomes setenv. Maple only
           shows the change: a function of that name may be there.
    """
    shell, place = _shell(job)
    if shell in _C_SHELLS:
        match = re.search(_OF_BASH, job.source)
        if match is not None:
            word = match.group().split(b"=")[0].strip().decode("utf-8", "replace")
            if re.search(_OWN_OF_CSH, job.source):
                says = "%s reads the script, and has no %s" % (shell.decode(), word)
                fixes = _setenvs(job)
                yield Finding("MPL120", says, Span(*match.span()), fixes=fixes, help="for csh: setenv NAME value")
                return
            says = "%s reads the script, which is written for bash: %s" % (shell.decode(), word)
            yield Finding("MPL120", says, place, fixes=_bash(job, shell), help="name bash, which reads it")
    elif job.script.is_shell and any(word in job.source for word in (b"setenv ", b"foreach ", b"set ")):
        matches = [match for match in re.finditer(_OF_CSH, job.source) if not _in_text(job.source, match.start())]
        if matches and not re.search(rb"(?m)^[ \t]*(?:function[ \t]+)?setenv[ \t]*\(", job.source):
            says = "%s is a command of the C shell, and bash reads the script" % _shown(matches[0])
            yield Finding(
                "MPL120", says, Span(*matches[0].span()), fixes=_exports(matches), help="for bash: export NAME=value"
            )


def _shown(match: "re.Match[bytes]") -> str:
    return "setenv" if match.group("env") else "foreach" if match.group("each") else "set NAME = value"


def _shell(job: Job) -> Tuple[bytes, Optional[Span]]:
    """Return the shell that reads the script, and where it is named: -S of qsub, else the first line."""
    setting = job.settings.get("shell") if is_pbs(job) else None
    if setting is not None and setting.value:
        return setting.value.split(b",")[0].split(b"@")[0].rpartition(b"/")[2], at(setting)
    words = job.script.interpreter.replace(b"/usr/bin/env ", b"").split()
    end = job.source.find(b"\n")
    return (words[0].rpartition(b"/")[2] if words else b""), Span(0, end if end >= 0 else len(job.source))


def _bash(job: Job, shell: bytes) -> Tuple[Fix, ...]:
    """Name bash where the C shell is named."""
    setting = job.settings.get("shell") if is_pbs(job) else None
    if setting is not None:
        made = restate(job, setting, b"/bin/bash", "MPL120")
        return (made.fix(Safety.ASK, "-S /bin/bash"),) if made is not None else ()
    end = job.source.find(b"\n")
    return (Fix((Edit(Span(0, end), b"#!/bin/bash", "MPL120"),), Safety.ASK, "#!/bin/bash"),) if end > 0 else ()


def _setenvs(job: Job) -> Tuple[Fix, ...]:
    """Write each export as csh does, where nothing else of bash is there."""
    exports = list(re.finditer(_EXPORT, job.source))
    if len(exports) != len(re.findall(_OF_BASH, job.source)):
        return ()
    edits = [Edit(Span(*line.span(1)), b"setenv " + line.group(2) + b" " + line.group(3), "MPL120") for line in exports]
    return (Fix(tuple(edits), Safety.ASK, "as csh writes it"),)


def _in_text(source: bytes, offset: int) -> bool:
    """Return whether a line may stand in a here-document, which another shell may read."""
    before = source[:offset]
    opened = re.findall(rb"<<-?[ \t]*[\"']?(\w+)", before)
    return any(not re.search(rb"(?m)^[ \t]*%s[ \t]*$" % re.escape(word), before) for word in opened)


def _exports(matches: "list[re.Match[bytes]]") -> Tuple[Fix, ...]:
    """Write each of them as bash does, where all can be."""
    edits = []
    for match in matches:
        if match.group("each"):
            return ()
        first = "env" if match.group("env") else "set"
        name, value = ("name", "value") if first == "env" else ("own", "given")
        words = (b"export " if first == "env" else b"") + match.group(name) + b"=" + match.group(value)
        edits.append(Edit(Span(match.start(first), match.end()), words, "MPL120"))
    return (Fix(tuple(edits), Safety.ASK, "as bash writes it"),)
