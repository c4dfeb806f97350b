"""What a model known by name needs around it: the hub's cache, a token for gated weights, its data."""

from __future__ import annotations

from .values import Plan


def lines(plan: Plan) -> list[str]:
    """Return the lines for the plan's model, [] where none is known by name."""
    if plan.model is None:
        return []
    family, member = plan.model
    found = _hub(plan, member.hub) if member.hub else []
    if family.gated:
        found += [
            "# %s is gated: accept its licence on the hub, and have a token in HF_TOKEN or in this file."
            % family.title,
            'export HF_TOKEN_PATH="${HF_TOKEN_PATH:-$HOME/.cache/huggingface/token}"',
        ]
    return found + _data(plan)


def _hub(plan: Plan, name: str) -> list[str]:
    found = ["# Weights come from the hub as %s, and are kept where every node finds them." % name]
    scratch = _scratch(plan)
    found += ['export HF_HOME="${HF_HOME:-%s/huggingface}"' % (scratch or "$HOME/.cache")]
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
    return ["# Training data (%s): the program finds its folder in DATA_DIR." % family.data,
            'export DATA_DIR="${DATA_DIR:-$PWD/data}"']  # fmt: skip
