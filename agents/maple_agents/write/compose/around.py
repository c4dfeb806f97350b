"""What a model known by name needs around it: the hub's cache, a token for gated weights, its data."""

from __future__ import annotations

from ..values import Plan


def lines(plan: Plan) -> list[str]:
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
    found = ["# Its weights are on the hub as %s; the cache has to lie where every node sees it." % name]
    scratch = _scratch(plan)
    found += ['export HF_HOME="${HF_HOME:-%s/huggingface}"' % scratch] if scratch else []
    part = plan.cluster.environment
    if part is not None and part.internet == "none":
        found += ["# No compute node reaches the internet: fill the cache on a login node first.",
                  "export HF_HUB_OFFLINE=1"]  # fmt: skip
    return found


def _scratch(plan: Plan) -> str:
    """Return the variable that names the scratch file system of the site, "" where none is documented."""
    file = plan.cluster.file
    listed = file.path if file is not None else []
    return next(("$SCRATCH" for one in listed if "$SCRATCH" in one.name and one.value), "")


def _data(plan: Plan) -> list[str]:
    family = plan.model[0] if plan.model is not None else None
    if family is None or not family.data:
        return []
    return ["# Its data (%s) has to lie there as well; name the folder as the program wants it, such as" % family.data,
            "# export DATA_DIR=%s/data" % (_scratch(plan) or "$PWD")]  # fmt: skip
