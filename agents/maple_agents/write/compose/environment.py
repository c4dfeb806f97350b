"""What stands between the directives and the launch line: modules, variables, the user's environment."""

from __future__ import annotations

import re
import textwrap
from typing import TYPE_CHECKING

from ...base.script_lines import BEGINS_AT_HOME, GOES_BACK
from ..values import Plan
from . import launch_line

if TYPE_CHECKING:
    from ...ask.sites.model import Load, Proxy, TransportVariable
    from ...templates.environments import Environment, Line
import shlex
from typing import Any

from ...base.slots import Refused

WIDTH = 100  # columns of a comment


def lines(plan: Plan) -> list[bytes]:
    """Return the lines, without newlines and with short comments: modules, variables, the user's own environment,
    and what the model needs around it. Under PBS the change to the folder of the submission comes first.
    """
    texts = [
        *_of(plan, "first"),
        *_modules(plan),
        *(line.decode() for line in launch_line.load_container(plan)),
        *own_lines(plan),
        *said_variables(plan),
        *_of(plan, "lines"),
        *_variables(plan),
        *_proxy(plan),
        *model_lines(plan),
    ]
    return [text.encode("utf-8", "surrogateescape") for text in texts]


def comment(text: str) -> list[str]:
    """Return *text* as comment lines."""
    return textwrap.wrap(
        " ".join(text.split()), WIDTH, initial_indent="# ", subsequent_indent="# ", break_on_hyphens=False
    )


def _of(plan: Plan, key: str) -> list[str]:
    """Return the lines under *key* of the environment part, each with its reason above it; without a part, the one that
    every job of PBS needs.
    """
    part = plan.cluster.environment
    if part is None and key == "first" and plan.cluster.site.scheduler == "pbs":
        return [*comment(BEGINS_AT_HOME), GOES_BACK]
    listed: list[Line] = getattr(part, key) if part is not None else []
    return [text for line in listed for text in (*comment(line.why), line.line)]


def _modules(plan: Plan) -> list[str]:
    part, file = plan.cluster.environment, plan.cluster.file
    if part is None or file is None:
        return []
    loads: list[Load] = [fact(file, key) for key in part.modules]
    if plan.slots.text("container"):  # it brings its own Python; the host's would get into it by PYTHONPATH
        loads = [load for load in loads if any("singularity" in line or "apptainer" in line for line in load.load)]
    loaded = [line for load in loads for line in load.load]
    then = [load.then for load in loads if load.then and not _own(plan)]
    return [*loaded, *(line for text in then for line in comment("Then, with names of your own: %s" % text))]


def _own(plan: Plan) -> bool:
    return bool(plan.slots.text("environment") or plan.slots.text("container"))


_OWN_RANKS = ("python", "plain")  # no agent starts them


def _variables(plan: Plan) -> list[str]:
    part, file = plan.cluster.environment, plan.cluster.file
    if part is None or file is None:
        return []
    agents = part.variables_of_agents if plan.launch.when.launcher not in _OWN_RANKS else None
    transport_variables: list[TransportVariable] = [
        fact(file, key) for key in (part.variables if agents is None else agents)
    ]
    return [
        exported(transport_variable.name, _joined(transport_variable)) for transport_variable in transport_variables
    ]


def _meant(part: Environment, launcher: str) -> list[str]:
    """Return the key paths of the variables to export where *launcher* starts the ranks; a kept part has no methods."""
    others: list[str] | None = None if launcher in _OWN_RANKS else getattr(part, "variables_of_agents", None)
    return part.variables if others is None else others


def _joined(transport_variable: TransportVariable) -> str:
    return (
        ":".join([*transport_variable.prepend, "$" + transport_variable.name])
        if transport_variable.prepend
        else transport_variable.value
    )


def exported(name: str, value: str) -> str:
    """Return the line that exports a variable; what the shell would split stands in quotes."""
    return "export %s=%s" % (name, value if re.fullmatch(r"[\w./,:+%@=-]*", value) else '"%s"' % value)


def _proxy(plan: Plan) -> list[str]:
    part, file = plan.cluster.environment, plan.cluster.file
    if part is None or file is None or part.internet != "proxy" or file.proxy is None:
        return []
    proxy: Proxy = file.proxy
    named = (("http_proxy", proxy.http), ("https_proxy", proxy.https), ("all_proxy", proxy.all))
    exports = [exported(name, value) for name, value in named if value]
    return [*comment("A compute node reaches the internet through the proxy only."), *exports] if exports else []


# A fact of a site file by its key path ("modules.pytorch.0"), as the parts of the repository name it.


def fact(file: Any, key_path: str) -> Any:
    """Return what stands in the site file at *key_path*. Raises `ValueError` where nothing does."""
    value = file
    for key in key_path.split("."):
        try:
            value = value[int(key)] if isinstance(value, (list, tuple)) else _under(value, key)
        except (LookupError, ValueError, AttributeError) as error:
            raise ValueError("%s: there is no %r in the site file" % (key_path, key)) from error
    return value


def _under(value: Any, key: str) -> Any:
    return value[key] if isinstance(value, dict) else getattr(value, key)


# What a model known by name needs around it: the hub's cache, a token for gated weights, its data.


def model_lines(plan: Plan) -> list[str]:
    """Return the lines for the plan's model, [] where none is known by name.

    What the user has set holds; where data lies nobody but the user knows, so it is a comment.
    """
    if plan.model is None:
        return []
    family, member = plan.model
    gated = _token(family.title) if family.gated else []
    return [*gated, *(_hub(plan, member.hub) if member.hub else []), *_data(plan)]


def _token(title: str) -> list[str]:
    """The token lies in the hub's folder, also where the weights are kept in another."""
    return [
        "# %s is gated: accept its licence on the hub, and have a token in HF_TOKEN or in this file." % title,
        'export HF_TOKEN_PATH="${HF_TOKEN_PATH:-${HF_HOME:-$HOME/.cache/huggingface}/token}"',
    ]


def _hub(plan: Plan, name: str) -> list[str]:
    rows = ["# Its weights are on the hub as %s; the cache has to lie where every node sees it." % name]
    scratch = _scratch(plan)
    rows += ['export HF_HOME="${HF_HOME:-%s/huggingface}"' % scratch] if scratch else []
    part = plan.cluster.environment
    if part is not None and part.internet == "none":
        rows += ["# No compute node reaches the internet: fill the cache on a login node first.",
                  "export HF_HUB_OFFLINE=1"]  # fmt: skip
    return rows


def _scratch(plan: Plan) -> str:
    """Return the variable that names the scratch file system of the site, "" where none is documented."""
    file = plan.cluster.file
    listed = file.path if file is not None else []
    return next(("$SCRATCH" for place in listed if "$SCRATCH" in place.name and place.value), "")


def _data(plan: Plan) -> list[str]:
    family = plan.model[0] if plan.model is not None else None
    if family is None or not family.data:
        return []
    return ["# Its data (%s) has to lie there as well; name the folder as the program wants it, such as" % family.data,
            "# export DATA_DIR=%s/data" % (_scratch(plan) or "$PWD")]  # fmt: skip


# The user's own environment: a conda environment, a venv, a module.

_CONDA = re.compile(r"(?:(?:conda|mamba)(?: activate| env(?:ironment)?)?[ :=]+)(\S+)\Z", re.IGNORECASE)
_VENV = re.compile(r"(?:venv|virtualenv|virtual environment|python environment)[ :=]+(\S+)\Z", re.IGNORECASE)
_LINE = re.compile(r"(?:module|ml|source|\.) \S.*\Z")
_NAME = re.compile(r"[A-Za-z0-9_.+-]+\Z")
_PLAIN = re.compile(r"[\w@%+=:,./~${} -]+\Z")  # nothing that begins another command


def own_lines(plan: Plan) -> list[str]:
    """Return the lines that bring the environment that was said, [] where none was.

    It is a line (`module load x`, `source path/bin/activate`), a conda environment (`conda env x`, a bare name), or the
    path of a venv; several stand between semicolons. Raises `Refused` where it is neither.
    """
    parts = [part.strip() for part in plan.slots.text("environment").split(";")]
    return [line for part in parts if part for line in _checked(part)]


def _checked(text: str) -> list[str]:
    if not _PLAIN.match(text):
        raise Refused("environment %r: say conda env NAME, the path of a venv, or module load NAME" % text)
    return _lines(text)


def _lines(text: str) -> list[str]:
    match = _CONDA.match(text)
    if match:
        return _conda(match[1])
    if _LINE.match(text):
        return [text]
    match = _VENV.match(text)
    path = match[1] if match else text
    if match or "/" in path and (path[0] in "/~$." or " " not in path):
        return ["source %s" % _path(path if path.endswith("/activate") else path.rstrip("/") + "/bin/activate")]
    if _NAME.match(path):
        return _conda(path)
    raise Refused("environment %s: say conda env NAME, the path of a venv, or module load NAME" % text)


def said_variables(plan: Plan) -> list[str]:
    """Return a line for each environment variable that was said. Raises `Refused` where one would begin a command."""
    rows = []
    for match in _SETTING.finditer(plan.slots.text("variables")):
        name, value = match["name"], match["value"]
        if not re.fullmatch(r"[\w@%+=:,./~${}\[\]-]*|'[^']*'|\"[^\"`]*\"", value) or "$(" in value:
            raise Refused("variable %s=%s: write its value as one plain word" % (name, value))
        rows.append("export %s=%s" % (name, value if value[:1] in "'\"" or "[" not in value else "'%s'" % value))
    return rows


_SETTING = re.compile(r"(?P<name>[A-Za-z_]\w*)=(?P<value>'[^']*'|\"[^\"]*\"|\S*)")


def _conda(name: str) -> list[str]:
    """A batch shell does not know `conda activate` before conda's own functions are there."""
    return ['source "$(conda info --base)/etc/profile.d/conda.sh"', "conda activate %s" % _path(name)]


def _path(path: str) -> str:
    """Return a path as a word of shell: its variables and a leading tilde keep their meaning."""
    if re.fullmatch(r"[\w@%+=:,./~${}-]+", path):
        return path if "$" not in path else '"%s"' % path
    return shlex.quote(path)
