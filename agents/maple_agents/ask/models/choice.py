"""Which model is asked, if any: `--model`, then MAPLE_MODEL, then the user's `model.toml`, then the site's.

```toml
model = "/scratch/models/Llama-3.2-1B-Instruct"    # a folder, or https://host/v1#name; "none": no model
seconds = 20                                       # the longest wait for an answer
tokens = 1024                                      # the longest answer
key_file = "~/.config/maple/key"                   # of the server; never in this file
plain_http = false                                 # true: http also to other hosts
```
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any, NamedTuple

import tomllib
from maple_submit_filter.host import places

from .protocol import Limit, Model, ModelError

FILE = "model.toml"
_KINDS: Mapping[str, tuple[type, ...]] = {
    "model": (str,), "seconds": (int, float), "tokens": (int,), "key_file": (str,), "plain_http": (bool,),
}  # fmt: skip
_MOST = 64 * 1024  # bytes of a file of settings
_MOST_KEY = 4096  # bytes of a key


class Choice(NamedTuple):
    """A model, and what an answer of it may cost."""

    model: Model
    limit: Limit


def choose(named: str = "", environ: Mapping[str, str] = os.environ) -> Choice | None:
    """Return the model that *named* (`--model`), the environment or a file names; None where no one names any.

    The first that names one decides, also with "none". The other settings are those of the file that names this model:
    a key goes to no server that it was not written for. Nothing is loaded, nobody is asked.
    Raises `ModelError`: the name is neither folder nor URL, or a file cannot be read.
    """
    wanted = named or environ.get("MAPLE_MODEL", "")
    if wanted == "none":
        return None
    files = [_settings(path) for path in _paths(environ)]
    settings = next((file for file in files if file.get("model") and wanted in ("", file["model"])), {})
    name = wanted or str(settings.get("model", ""))
    if not name or name == "none":
        return None
    limit = Limit(float(settings.get("seconds", 30.0)), int(settings.get("tokens", 1024)))
    return Choice(_model(name, settings, environ), limit)


def _model(name: str, settings: Mapping[str, Any], environ: Mapping[str, str]) -> Model:
    if "://" not in name:
        from .local import LocalModel

        return LocalModel(name)
    from .http import HttpModel

    url, _, served = name.partition("#")
    if not served or not served.isprintable():
        raise ModelError(url.rpartition("@")[2], "the address names none of its models", "write URL#name")
    return HttpModel(url, served, _key(settings, environ), plain_http=settings.get("plain_http") is True)


def _paths(environ: Mapping[str, str]) -> list[str]:
    """Return where the settings may lie: the user's own first, then the site's."""
    own = environ.get("XDG_CONFIG_HOME", "")
    home = environ.get("HOME", "")
    if not own.startswith("/"):
        own = os.path.join(home, ".config") if home.startswith("/") else ""
    return [*([os.path.join(own, "maple", FILE)] if own else []), os.path.join(places.etc(environ), FILE)]


def _settings(path: str) -> dict[str, Any]:
    """Return the settings of one file, none where there is no file. Raises `ModelError` where it cannot be used."""
    try:
        with open(path, "rb") as file:
            settings = tomllib.loads(file.read(_MOST).decode())
    except (FileNotFoundError, NotADirectoryError):
        return {}
    except (OSError, ValueError) as error:
        raise ModelError("", f"{path}: {error}", "correct or remove it") from None
    for name, value in settings.items():
        if name not in _KINDS:
            raise ModelError("", f"{path}: {name} is no setting", f"there are {', '.join(_KINDS)}")
        if type(value) not in _KINDS[name] or (not isinstance(value, str | bool) and not 0 < value <= 100_000):
            raise ModelError("", f"{path}: {name} cannot be {value!r}", "see the example in the documentation")
    return settings


def _key(settings: Mapping[str, Any], environ: Mapping[str, str]) -> str:
    """Return the server's key: MAPLE_MODEL_KEY, else the first word of the file that is named for it; "" without."""
    key = environ.get("MAPLE_MODEL_KEY", "").strip()
    path = os.path.expanduser(environ.get("MAPLE_MODEL_KEY_FILE", "") or str(settings.get("key_file", "")))
    if not key and path:
        try:
            with open(path, "rb") as file:
                key = file.read(_MOST_KEY).decode("ascii").strip()
        except (OSError, ValueError) as error:
            why = error.strerror if isinstance(error, OSError) else "it is no text"
            raise ModelError("", f"the file of the model's key, {path}: {why}", "name another") from None
    if not key.isascii() or not key.isprintable() or " " in key:
        raise ModelError("", "the model's key holds characters that no key has", "one word, in one line")
    return key
