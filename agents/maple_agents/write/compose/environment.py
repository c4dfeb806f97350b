"""What stands between the directives and the launch line: modules, variables, the user's environment."""

from __future__ import annotations

import re
import textwrap
from typing import TYPE_CHECKING

from ..facts import fact
from ..values import Plan
from . import around, containers, own_environment

if TYPE_CHECKING:
    from ...ask.sites.model import Load, Proxy, TransportVariable
    from ...templates.environments import Environment, Line

WIDTH = 100  # columns of a comment


def lines(plan: Plan) -> list[bytes]:
    """Return the lines, without newlines and with short comments: modules, variables, the user's own environment,
    and what the model needs around it. Under PBS the change to the folder of the submission comes first.
    """
    found = [
        *_of(plan, "first"),
        *_modules(plan),
        *(one.decode() for one in containers.load(plan)),
        *own_environment.lines(plan),
        *_of(plan, "lines"),
        *_variables(plan),
        *_proxy(plan),
        *around.lines(plan),
    ]
    return [one.encode("utf-8", "surrogateescape") for one in found]


def comment(text: str) -> list[str]:
    """Return *text* as comment lines."""
    return textwrap.wrap(
        " ".join(text.split()), WIDTH, initial_indent="# ", subsequent_indent="# ", break_on_hyphens=False
    )


def _of(plan: Plan, key: str) -> list[str]:
    """Return the lines under *key* of the environment part, each with its reason above it."""
    part = plan.cluster.environment
    listed: list[Line] = getattr(part, key) if part is not None else []
    return [text for one in listed for text in (*comment(one.why), one.line)]


def _modules(plan: Plan) -> list[str]:
    part, file = plan.cluster.environment, plan.cluster.file
    if part is None or file is None:
        return []
    loads: list[Load] = [fact(file, key) for key in part.modules]
    if plan.said.text("container"):  # it brings its own Python; the host's would get into it by PYTHONPATH
        loads = [one for one in loads if any("singularity" in line or "apptainer" in line for line in one.load)]
    found = [line for one in loads for line in one.load]
    then = [one.then for one in loads if one.then and not _own(plan)]
    return [*found, *(line for text in then for line in comment("Then, with names of your own: %s" % text))]


def _own(plan: Plan) -> bool:
    return bool(plan.said.text("environment") or plan.said.text("container"))


def _variables(plan: Plan) -> list[str]:
    part, file = plan.cluster.environment, plan.cluster.file
    if part is None or file is None:
        return []
    agents = part.variables_of_agents if plan.launch.when.launcher != "python" else None
    found: list[TransportVariable] = [fact(file, key) for key in (part.variables if agents is None else agents)]
    return [exported(one.name, _joined(one)) for one in found]


def _meant(part: Environment, launcher: str) -> list[str]:
    """Return the key paths of the variables to export where *launcher* starts the ranks; a kept part has no methods."""
    others: list[str] | None = None if launcher == "python" else getattr(part, "variables_of_agents", None)
    return part.variables if others is None else others


def _joined(one: TransportVariable) -> str:
    return ":".join([*one.prepend, "$" + one.name]) if one.prepend else one.value


def exported(name: str, value: str) -> str:
    """Return the line that exports a variable; what the shell would split stands in quotes."""
    return "export %s=%s" % (name, value if re.fullmatch(r"[\w./,:+%@=-]*", value) else '"%s"' % value)


def _proxy(plan: Plan) -> list[str]:
    part, file = plan.cluster.environment, plan.cluster.file
    if part is None or file is None or part.internet != "proxy" or file.proxy is None:
        return []
    proxy: Proxy = file.proxy
    named = (("http_proxy", proxy.http), ("https_proxy", proxy.https), ("all_proxy", proxy.all))
    found = [exported(name, value) for name, value in named if value]
    return [*comment("A compute node reaches the internet through the proxy only."), *found] if found else []
