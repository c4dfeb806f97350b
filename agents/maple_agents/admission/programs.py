"""The programs that a script starts, and which of them the job is about."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from typing import NamedTuple

from maple_submit_filter.types.launch_plan import LaunchPlan, Step
from maple_submit_filter.types.text import NUL

from . import names

_PYTHON = re.compile(rb"(?:.*/)?(?:i?python|pypy)[\d.]*")
_SHELL = re.compile(rb"(?:.*/)?(?:ba|da|z|k|c|tc)?sh")  # what it runs is not seen here
_STARTER = re.compile(rb"(?:.*/)?(?:torchrun|deepspeed|accelerate|horovodrun)")  # behind a wrapper that nobody knows
_WITH_VALUE = (b"-X", b"-W", b"--check-hash-based-pycs")


class Started(NamedTuple):
    """A launch line's program. *program*: file or module as written, "" not known. *first*: index of its arguments."""

    step: Step
    program: str
    is_module: bool
    first: int
    given: Arguments
    kind: str
    hidden: bool = False  # another launcher stands behind a wrapper that nobody knows


def started(step: Step) -> Started:
    """Return the program of a launch line, its interpreter seen through."""
    words = step.program
    before = _wrapped(words)
    at, is_module = _program(words[before:])
    at += before
    name = words[at] if at < len(words) else b""
    hidden = NUL in name or _SHELL.fullmatch(name) or _STARTER.fullmatch(name)
    program = name.decode("utf-8", "replace") if not hidden else ""
    given = arguments(words[at + 1 :])
    behind = bool(_STARTER.fullmatch(name))
    return Started(step, program, is_module, at + 1, given, kind_of(program, given.sure()), behind)


def _wrapped(words: Sequence[bytes]) -> int:
    """Return how many words stand before a program that another carries: `bind.sh python train.py`."""
    if not words or _PYTHON.fullmatch(words[0]) or words[0].endswith(b".py"):
        return 0
    carried = (at for at, word in enumerate(words) if _PYTHON.fullmatch(word) or _STARTER.fullmatch(word))
    return next(carried, 0)


def _program(words: Sequence[bytes]) -> tuple[int, bool]:
    """Return the index of the program's word and whether it is a module; beyond the last where there is none."""
    at = 1 if words and _PYTHON.fullmatch(words[0]) else 0
    while at < len(words) and words[at].startswith(b"-"):
        if words[at] in (b"-m", b"--module"):
            return at + 1, True
        if words[at] == b"-c":
            return len(words), False
        at += 2 if words[at] in _WITH_VALUE else 1
    return at, False


def main(plan: LaunchPlan) -> tuple[Started, ...]:
    """Return the launch lines that the job is about: those that train, else all that are no preparation."""
    starts = [started(step) for step in plan.steps if step.program or step.links]
    for wanted in (("training",), ("evaluation", "inference", "")):
        some = [start for start in starts if start.kind in wanted]
        if some:
            return tuple(some)
    return tuple(starts)


def one_program(starts: Sequence[Started]) -> bool:
    """Return whether all of these start the same program."""
    return len({(started.program, started.is_module) for started in starts}) == 1 and bool(starts[0].program)


# What a program is for, by its name and its arguments; "" where these say nothing, or say two things.

_KINDS = (
    ("training", r"(?:pre)?train(?:er|ing)?|fine_?tun(?:e|ing)|sft|dpo|ppo|grpo|fit|pretraining|distill"),
    ("evaluation", r"eval(?:uate|uation)?|lm_eval|lm_evaluation_harness|bench(?:mark)?|validate|test"),
    ("preprocessing", r"preprocess(?:ing)?|pre_process|tokeniz(?:e|er|ation)|prepare|prep|encode_data|build_dataset"),
    ("inference", r"infer(?:ence)?|predict(?:ion)?|generate|generation|serve|server|vllm|sample|translate"),
)
_NAMES = [(kind, re.compile(r"(?:^|[_.\-/])(?:%s)(?=$|[_.\-/\d])" % words)) for kind, words in _KINDS]
_DO = {"do_train": "training", "do_eval": "evaluation", "do_predict": "inference"}
_MODES = ("mode", "stage", "phase", "command", "action")


def kind_of(program: str, given: Sequence[Argument]) -> str:
    """Return "training", "evaluation", "preprocessing" or "inference"; "" where it is not known.

    An argument decides over a name: `main.py --mode train`, `run_glue.py --do_eval`, `cli.py fit`.
    """
    kind = _by_arguments(given)
    if kind is not None:
        return kind
    kinds = _matching(os.path.basename(program).removesuffix(".py").lower())
    if "inference" in kinds and "data" in program.lower():
        return ""  # generate_data.py
    return kinds.pop() if len(kinds) == 1 else ""


def _by_arguments(given: Sequence[Argument]) -> str | None:
    done = {_DO[key] for key, on in ((_key(argument), _is_on(argument)) for argument in given) if key in _DO and on}
    if done:
        return "training" if "training" in done else done.pop() if len(done) == 1 else ""
    modes = [argument.value for argument in given if _key(argument) in _MODES and argument.form != "word"]
    words = [argument.value for argument in given[:1] if argument.form == "word"]
    for value in (*modes, *words):
        kinds = _matching((value or "").lower()) if re.fullmatch(r"\w{2,24}", value or "") else set()
        if len(kinds) == 1:
            return kinds.pop()
    evaluates = any(_key(argument) in ("eval_only", "evaluate", "test_only") and _is_on(argument) for argument in given)
    return "evaluation" if evaluates else None


def _key(argument: Argument) -> str:
    return argument.name.strip("-").replace("-", "_").lower()


def _is_on(argument: Argument) -> bool:
    return argument.value is not None and argument.value.lower() not in ("false", "0", "no")


def _matching(name: str) -> set[str]:
    return {kind for kind, pattern in _NAMES if pattern.search(name)}


# The words behind a program: options with their values, overrides of the form a.b=c, and whether more may follow.

_OVERRIDE = re.compile(r"(\+{0,2})([A-Za-z_][\w./@-]*)=(.*)", re.DOTALL)
_OPTION = re.compile(r"(--?[A-Za-z][\w.-]*)(?:=(.*))?", re.DOTALL)
_SWEEPS = (b"-m", b"--multirun")  # of Hydra: no value, and values with commas behind it are several
_NEGATIVE = re.compile(r"-(?:\d|\.\d)")


class Argument(NamedTuple):
    """*name*: as written, "" of a positional word. *value*: "" of a flag, None unknown. *at*: index of its word.

    *form*: "option", "override" (a.b=c) or "word".
    """

    name: str
    value: str | None
    at: int
    form: str


class Arguments(NamedTuple):
    """*open_at*: index of the last word that may be any number of words; what stands before it may be overruled."""

    all: tuple[Argument, ...]
    open_at: int = -1

    def sure(self) -> list[Argument]:
        """Return those that nothing unknown can overrule."""
        return [argument for argument in self.all if argument.at > self.open_at]

    @property
    def is_open(self) -> bool:
        """Whether an option may be there that is not seen."""
        return self.open_at >= 0


def arguments(words: Sequence[bytes]) -> Arguments:
    """Return the words behind a program taken apart; a word with a token of an unknown value is unknown."""
    parsed: list[Argument] = []
    open_at, at = -1, 0
    while at < len(words):
        argument = _argument(words, at)
        if argument.value is None and (argument.form == "word" or _is_flag(argument, words[at])):
            open_at = at
        parsed.append(argument)
        taken = argument.form == "option" and argument.value != "" and b"=" not in words[at]
        at += 2 if taken else 1
    return Arguments(tuple(parsed), open_at)


def _is_flag(argument: Argument, word: bytes) -> bool:
    """Return whether a name takes no value, so that the unknown word behind it is one of its own."""
    what = names.known(argument.name) if b"=" not in word else None
    return argument.form == "option" and what is not None and bool(what.fixed)


def _argument(words: Sequence[bytes], at: int) -> Argument:
    text = _text(words[at])
    head = text if text is not None else _text(words[at].split(b"=", 1)[0] + b"=") if b"=" in words[at] else None
    option = _OPTION.fullmatch(head) if head else None
    if option is not None and option[2] is None:
        return Argument(option[1], _following(words, at), at, "option")
    override = _OVERRIDE.fullmatch(head) if head else None
    if option is None and override is None:
        return Argument("", text, at, "word")
    name, value = (option[1], option[2]) if option is not None else (override[2], override[3]) if override else ("", "")
    return Argument(name, value if text is not None else None, at, "option" if option is not None else "override")


def _following(words: Sequence[bytes], at: int) -> str | None:
    """Return the value behind an option, "" where the next word is an option or an override of its own."""
    if at + 1 >= len(words):
        return ""
    text = _text(words[at + 1])
    if text is None:
        return None
    if words[at] in _SWEEPS and _OVERRIDE.fullmatch(text):
        return ""
    is_value = not text.startswith("-") or bool(_NEGATIVE.match(text))
    return text if is_value and text else ""


def _text(word: bytes) -> str | None:
    return word.decode("utf-8", "replace") if NUL not in word else None
