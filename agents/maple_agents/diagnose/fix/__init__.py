"""What would make the job run: steps that people take, and changes of the script that were checked.

A typed fix is found by the name that a remedy of the knowledge base gives it, as a rule by its code.
"""

from __future__ import annotations

from . import corrections  # noqa: F401  # registers its fixes
from .kinds import (  # noqa: F401  # each registers its fixes
    conda,
    deepspeed,
    directives,
    line_endings,
    masters,
    memory,
    module_lines,
    near_options,
    near_variables,
    nodes,
    open_files,
    options,
    paths,
    ports,
    pythons,
    ranks,
    requests,
    shells,
    steps,
    variables,
    walltime,
)
from .registry import MADE as MADE
from .treatment import cures as cures
