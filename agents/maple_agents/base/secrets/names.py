"""Which names say that their value is a secret, and which values behind such a name are none."""

from __future__ import annotations

import re

from . import known_shapes

_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[A-Z]+|\d+")
_ALWAYS = ("password", "passwd", "passphrase", "passcode", "secret", "apikey", "authtoken", "accesstoken", "apitoken")
_PASSWORDS = ("password", "passwd", "passphrase", "passcode")
_ENDS = frozenset(
    (
        "pass",
        "pwd",
        "pw",
        "psw",
        "pat",
        "jwt",
        "secrets",
        "credential",
        "credentials",
        "passwords",
        "bearer",
        "cookie",
        "sig",
    )
)
_PRIVATE = frozenset(
    (
        "api", "access", "secret", "private", "auth", "encryption", "signing", "account", "master", "shared", "ssh",
        "license", "subscription", "service", "storage", "wandb", "session", "deploy", "app", "application", "admin",
        "openai", "anthropic", "client", "consumer", "host", "root", "user", "write", "management",
    )
)  # fmt: skip
# A token that is a piece of text; `tokens` is a number of them.
_OF_TEXT = frozenset(
    (
        "pad", "eos", "bos", "unk", "sep", "cls", "mask", "image", "special", "next", "new", "num", "stop", "start",
        "end", "first", "last", "per", "max", "min", "video", "audio", "prompt", "added", "extra", "placeholder", "box",
        "begin", "fake", "global", "class", "reg", "register", "think", "text", "word", "unexpected", "invalid", "each",
        "sample", "line", "boi", "eoi", "img", "vision", "user", "assistant", "system", "by", "of", "single", "default",
    )
)  # fmt: skip
_NO_SECRET = frozenset(
    (
        "none", "null", "nil", "true", "false", "yes", "no", "on", "off", "str", "string", "int", "bool", "bytes",
        "any", "optional", "required", "missing", "empty", "unset", "default", "undefined", "expired", "invalid",
        "incorrect", "wrong", "todo", "changeme", "xxx", "redacted", "masked", "hidden", "stdin", "prompt", "ask",
        "auto",
    )
)  # fmt: skip
_FORMS = frozenset(("b", "base", "json", "yaml", "enc", "encoded", "raw", "hex", "pem", "plain", "value"))  # B64: b
_UNSURE = frozenset(("key", "keys", "auth", "authorization", "login", "apikeys"))
# A key by which data is found.
_OF_DATA = frozenset(
    (
        "cache", "sort", "primary", "foreign", "hash", "object", "content", "blob", "partition", "group", "index",
        "map", "dedup", "row", "column", "field", "routing", "public", "host", "fingerprint", "build", "config",
    )
)  # fmt: skip
_REFERENCE = re.compile(
    r"\$(?:[A-Z_][A-Z0-9_]*|\{[A-Za-z_]\w*(?::?[-?+=])?\}|\(.*|\{\{.*|[a-z_]*(?:token|key|pass|secret|cred)[a-z_]*)|`.*|"
    r"%[A-Z_]+%|\{\{?[\w. ]+\}?\}|<[^<>]*>|\[[A-Z_]+\]|\[masked\]|[\W_]+|"
    r"[A-Za-z_]\w*(?:\.\w+)*[(\[].*|(?:args|self|cfg|config|opts?|options|os|settings|params|kwargs|secrets)\.[\w.]+"
)
_PLAIN = re.compile(r"[a-z]{1,12}")  # "unexpected token: foo"
_PATH = re.compile(r"(?:~|\.{1,2}|\$\{?[A-Z]+\}?)?/[\w.~/+-]+")


def is_secret(name: str) -> bool:
    """Return whether a value of this name is nobody's business: `HF_TOKEN`, `db.password`, `AWS_CREDENTIALS_B64`."""
    words = _words(name)
    while len(words) > 1 and words[-1] in _FORMS:
        words.pop()
    if not words or words[0] == "no":  # --no-password
        return False
    joined, last, before = "".join(words), words[-1], words[-2] if len(words) > 1 else ""
    if joined.endswith(_ALWAYS) or (last in _ENDS and joined not in ("pwd", "oldpwd", "pass", "sig", "pat", "pw")):
        return joined not in ("bypass",)
    if last == "signature":
        return bool(words[0] == "x")  # of a signed URL: X-Amz-Signature
    if last.endswith("token"):
        return name.isupper() or before not in _OF_TEXT
    if last == "tokens":
        return before in _PRIVATE
    if last in ("key", "keys"):
        return before in _PRIVATE or (name.isupper() and last == "key" and "_" in name)
    if name in ("pwd", "Pwd", "pass", "sig", "_auth", "_authToken") or joined.endswith("accesskeyid"):
        return True
    return joined not in ("pwd", "oldpwd") and known_shapes.names().search(name) is not None


def may_be_secret(name: str) -> bool:
    """Return whether a value of this name is one where it looks like one: `key`, `"auth"`."""
    words = _words(name)
    return bool(words) and words[-1] in _UNSURE and (len(words) < 2 or words[-2] not in _OF_DATA)


def _words(name: str) -> list[str]:
    return [word.lower() for word in _WORD.findall(name) if not word.isdigit()]


def is_password(name: str) -> bool:
    """Return whether a name says password, so that even a plain word behind it is one."""
    return name.lower().replace("_", "").endswith(_PASSWORDS)


def is_harmless(name: str, value: str) -> bool:
    """Return whether *value*, without its quotes, is no secret though *name* says so.

    A variable, a call, a placeholder, a type, a small count; for what may be a file, a path.
    """
    lower, words = value.lower(), [word.lower() for word in _WORD.findall(name)]
    if not value or lower in _NO_SECRET or _REFERENCE.fullmatch(value) or lower == name.lower():
        return True
    last = words[-1] if words else ""
    if words == ["pass"] and value.isdigit():  # "pass: 12, fail: 0"
        return True
    if last in ("credential", "credentials", "cookie", "pwd", "key", "pass") and _PATH.fullmatch(value):
        return last != "key" or "ssh" in words or "private" in words
    if last.endswith("token") or last == "secret":
        return bool(re.fullmatch(r"\d{1,5}|</?\w+/?>", value)) or (
            words == [last] and _PLAIN.fullmatch(value) is not None
        )
    return False
