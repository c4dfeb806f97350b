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
