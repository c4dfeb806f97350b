"""What a program is for, by its name and its arguments; "" where these say nothing, or say two things."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence

from .arguments import Argument

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
    said = _by_arguments(given)
    if said is not None:
        return said
    found = _matching(os.path.basename(program).removesuffix(".py").lower())
    if "inference" in found and "data" in program.lower():
        return ""  # generate_data.py
    return found.pop() if len(found) == 1 else ""


def _by_arguments(given: Sequence[Argument]) -> str | None:
    done = {_DO[key] for key, on in ((_key(one), _is_on(one)) for one in given) if key in _DO and on}
    if done:
        return "training" if "training" in done else done.pop() if len(done) == 1 else ""
    modes = [one.value for one in given if _key(one) in _MODES and one.form != "word"]
    words = [one.value for one in given[:1] if one.form == "word"]
    for value in (*modes, *words):
        found = _matching((value or "").lower()) if re.fullmatch(r"\w{2,24}", value or "") else set()
        if len(found) == 1:
            return found.pop()
    evaluates = any(_key(one) in ("eval_only", "evaluate", "test_only") and _is_on(one) for one in given)
    return "evaluation" if evaluates else None


def _key(one: Argument) -> str:
    return one.name.strip("-").replace("-", "_").lower()


def _is_on(one: Argument) -> bool:
    return one.value is not None and one.value.lower() not in ("false", "0", "no")


def _matching(name: str) -> set[str]:
    return {kind for kind, pattern in _NAMES if pattern.search(name)}
