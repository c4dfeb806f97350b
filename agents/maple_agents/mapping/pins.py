"""The cores that `taskset -c` or `numactl -C` in front of a program gives each task, also by its local number."""

from __future__ import annotations

import re

_NUMBER = r"(?:\d{1,4}|\$\(\([^()]*\)\)|\$\w+|\$\{\w+\})"
_RANGE = rf"{_NUMBER}(?:-{_NUMBER})?"
_PIN = re.compile(
    r"(?:\btaskset\s+(?:-a\s+)?(?:-c|-ac|--cpu-list)|\bnumactl\s+(?:-\S+\s+)*?(?:-C|--physcpubind))[\s=]+"
    rf"(?P<cores>{_RANGE}(?:,{_RANGE})*)(?=\s)"
)
_SET = re.compile(rf"(?<![\w$-])([A-Za-z_]\w*)=({_NUMBER}(?=[\s;]|\Z)|[^\s;]*)")
_PART = re.compile(_NUMBER)
_TERMS = re.compile(r"\s*(?:\d{1,6}|[-+*/%]|\$?\w+)")
_BRANCHES = re.compile(
    r"\b(?:if|case|for|while|until|select|function|eval|let|read|declare)\b|&&|\|\||\+=|(?<!\$)\(\(", re.S
)
LOCAL = ("SLURM_LOCALID", "PMI_LOCAL_RANK", "PALS_LOCAL_RANKID", "OMPI_COMM_WORLD_LOCAL_RANK", "MPI_LOCALRANKID")


def written(line: str) -> str:
    """Return the words that pin, "" where none do, or several."""
    found = list(_PIN.finditer(line))
    return found[0][0].strip() if len(found) == 1 else ""


def pinned(line: str, local: int, names: tuple[str, ...] = LOCAL) -> str | None:
    """Return the list of cores of a local task, None where a value is not known or a branch may change it."""
    match = _PIN.search(line)
    if match is None or not written(line) or _BRANCHES.search(line):
        return None
    if "$" in match["cores"] and line.count("'", 0, match.start()) % 2 == 0:
        return None  # the batch shell fills it in, not the task's
    known = dict.fromkeys(names, local)
    for one in _SET.finditer(line, 0, match.start()):
        value = _value(one[2], known) if re.fullmatch(_NUMBER, one[2]) else None
        known.pop(one[1], None)
        if value is not None:
            known[one[1]] = value
    values = [_value(part, known) for part in _PART.findall(match["cores"])]
    if None in values:
        return None
    rest = iter(values)
    return _PART.sub(lambda _: str(next(rest)), match["cores"])


def _value(text: str, known: dict[str, int]) -> int | None:
    """Return what a number, a variable or sums and products of these in `$((...))` come to."""
    inner = text[3:-2] if text.startswith("$((") else text.strip("${}")
    terms = [term.strip() for term in _TERMS.findall(inner)]
    if "".join(terms) != re.sub(r"\s", "", inner) or len(terms) % 2 == 0:
        return None
    numbers = [int(one) if one.isdigit() else known.get(one.lstrip("$")) for one in terms[::2]]
    total, product, sign = 0, numbers[0], 1
    for sort, number in zip(terms[1::2], numbers[1:]):
        if product is None or number is None or sort not in "+-*/%" or sort in "/%" and number == 0:
            return None
        if sort in "+-":
            total, product, sign = total + sign * product, number, 1 if sort == "+" else -1
        else:
            product = product * number if sort == "*" else product // number if sort == "/" else product % number
    return total + sign * product if product is not None and total + sign * product >= 0 else None
