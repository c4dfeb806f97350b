"""conda in a batch shell: its functions are read from where the user's own conda lies."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator

from maple_submit_filter.types.edits import Edit, Fix, Safety, Span

from ..registry import PLAIN, Given, fix
from .insertion import PlainWord, newline, plain_words

_FUNCTIONS = "etc/profile.d/conda.sh"
_FOLDERS = ("miniconda3", "miniforge3", "mambaforge", "anaconda3", "miniconda", "anaconda", "conda", "micromamba")


@fix("conda-functions")
def conda_functions(given: Given) -> Fix | None:
    """Read conda's functions in front of the first `conda activate`, from the one conda that is found to be there.

    It is looked for where the activated environment lies, where the submission's variables say, and in the home folder.
    """
    source = given.job.source
    first = next((word for word in plain_words(source) if word.nth == 0 and word.text == "conda"), None)
    meant = any("conda" in line.text for line in given.cause.evidence)
    path = next(_there(given), "") if given.own and meant and first is not None else ""
    if first is None or not path or _FUNCTIONS.encode() in source or not PLAIN.match(path):
        return None
    at = source.rfind(b"\n", 0, first.span.start) + 1
    if source[at : first.span.start].strip():
        return None  # not at the beginning of its line
    edit = Edit(Span(at, at), b"source " + os.fsencode(path) + newline(source), "conda-functions")
    return Fix((edit,), Safety.ASK, "source %s, before conda activate" % path)


def _there(given: Given) -> Iterator[str]:
    """Yield the files of functions that are there, the likeliest first."""
    environment = given.job.submission.environment
    roots = [*_of_environments(plain_words(given.job.source))]
    executable = os.fsdecode(environment.get(b"CONDA_EXE", b"")) or os.environ.get("CONDA_EXE", "")
    roots += [os.path.dirname(os.path.dirname(executable))] if executable else []
    roots += [os.path.join(os.path.expanduser("~"), folder) for folder in _FOLDERS]
    paths = [os.path.join(root, _FUNCTIONS) for root in roots if root.startswith("/")]
    yield from (path for path in dict.fromkeys(paths) if os.path.isfile(path))


def _of_environments(words: list[PlainWord]) -> Iterator[str]:
    """Yield the folder above `envs/` of each environment that is activated by its path."""
    for word in words:
        match = re.fullmatch(r"(/\S+)/envs/[\w.-]+/?", word.text)
        if match is not None:
            yield match[1]
