"""What stands in for `typing` in the helper makes the same types as the real one."""

from __future__ import annotations

import json
import os
import subprocess
import sys

LIB = os.path.join(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))), "submit_filter")

LISTING = """
import json, os, sys
sys.path.insert(0, {lib!r})
from maple_submit_filter import lean_typing
if {lean}: lean_typing.install()
found = {{}}
for folder, _, names in os.walk({lib!r} + "/maple_submit_filter"):
    for name in sorted(names):
        if not name.endswith(".py") or name == "lean_typing.py": continue
        path = os.path.relpath(os.path.join(folder, name), {lib!r})[:-3].replace("/", ".").removesuffix(".__init__")
        module = __import__(path, fromlist=["x"])
        for key, one in vars(module).items():
            if isinstance(one, type) and issubclass(one, tuple) and hasattr(one, "_fields"):
                methods = sorted(each for each in vars(one) if not each.startswith("_"))
                found[path + "." + key] = [one._fields, repr(one._field_defaults), one.__doc__, one.__module__, methods]
print(json.dumps([found, hasattr(sys.modules["typing"], "install")]))
"""


def types(lean: bool) -> tuple[dict[str, object], bool]:
    """Return every named tuple of the package, and whether the stand-in made them."""
    code = LISTING.format(lib=LIB, lean=lean)
    done = subprocess.run([sys.executable, "-IS", "-c", code], capture_output=True, text=True, timeout=60, check=True)
    found, stood_in = json.loads(done.stdout)
    return found, stood_in


def test_named_tuples_are_the_same_with_and_without_it():
    """Fields, defaults, docstrings and methods; and the real module is not loaded on the way."""
    (real, there), (lean, stood_in) = types(False), types(True)
    assert (there, stood_in) == (False, sys.version_info < (3, 14))
    assert len(real) > 50
    assert lean == real


def test_a_named_tuple_behaves_as_the_real_one():
    """What the code of the package does with one, and how it fails."""
    code = f"""
import sys, collections
sys.path.insert(0, {LIB!r})
from maple_submit_filter import lean_typing
class Lean(lean_typing.NamedTuple):
    first: int
    second: str = "x"
    def both(self): return self.first, self.second
Real = collections.namedtuple("Lean", "first second", defaults=("x",))
def outcome(work):
    try:
        return work()
    except Exception as error:
        return type(error).__name__
for work in (
    lambda kind: tuple(kind(1)), lambda kind: repr(kind(1, "y")), lambda kind: kind(second="z", first=2) == (2, "z"),
    lambda kind: tuple(kind(1)._replace(second="y")), lambda kind: kind(1)._replace(third=1), lambda kind: kind(),
    lambda kind: kind(1, 2, 3), lambda kind: kind._make([1]), lambda kind: tuple(kind._make([1, 2])),
    lambda kind: kind(1)._asdict(), lambda kind: hash(kind(1)) == hash((1, "x")), lambda kind: kind(1).second,
    lambda kind: setattr(kind(1), "first", 2), lambda kind: kind(1).third, lambda kind: kind.__match_args__,
):
    assert outcome(lambda: work(Lean)) == outcome(lambda: work(Real)), outcome(lambda: work(Lean))
assert Lean(1).both() == (1, "x") and "collections" not in lean_typing.__dict__
"""
    done = subprocess.run([sys.executable, "-IS", "-c", code], capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stderr) == (0, "")


def test_what_it_does_not_have_comes_from_the_real_one():
    """A module of the standard library may ask for more than a type."""
    code = f"""
import sys
sys.path.insert(0, {LIB!r})
from maple_submit_filter import lean_typing
lean_typing.install()
from typing import List, get_type_hints
def f(x: "int") -> "List[int]": ...
assert get_type_hints(f)["x"] is int
import typing
assert typing.__file__ != lean_typing.__file__
"""
    done = subprocess.run([sys.executable, "-IS", "-c", code], capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stderr) == (0, "")
