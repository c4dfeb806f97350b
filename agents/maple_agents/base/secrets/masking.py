"""Secrets taken out of text before it is stored, shown or sent.

Two kinds of rules: what a secret looks like by itself (a token with a known beginning, a private key; our own, and what
`known_shapes` has of others), and where one stands (behind `password=`, in a URL, after `--token`). A hash, a path, a
module's name or a count of tokens is none.
When in doubt behind a name that says secret, it is masked. Time grows with the length of the text, whatever it holds.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Iterator

from .names import is_harmless, is_password, is_secret, masked_by_shape, may_be_secret

MASK = "[masked]"
_LEAST_LOGIN = 8  # characters of `name:password` in base 64
_MOST_CREDENTIAL = 300  # characters that are looked at
_PATH = re.compile(r"(?:/[a-z0-9_.-]+){2,}/?")  # in base 64 capitals would stand among so many letters
_BLOCK = ("|", ">", "|-", ">-", "|+", ">+")


def masked(text: str) -> str:
    """Return *text* with `[masked]` in place of every secret found; doing it twice changes nothing more.

    All other characters stay as they are.
    """
    text = PRIVATE_KEY.sub(MASK, text)
    if "PRIVATE KEY" in text:
        text = KEY_END.sub(_on_each_line, text)
    text = masked_by_shape(KNOWN.sub(MASK, text), MASK)
    text = URL.sub(_user, text)
    for pattern in (HEADER, SCHEME, LOGIN, PIPED, KEY_LATER, KEY_LINE):
        text = pattern.sub(_behind, text)
    for pattern in (NAMED, CALL, OPTION, SET):
        text = "".join(_named(text, pattern))
    text = XML.sub(_if_named, text)
    for pattern in (SAID, TOKEN_LATER):
        text = pattern.sub(_if_like_one, text)
    return RANDOM.sub(_if_random, text)


def masked_lines(text: str) -> str:
    """Return *text* as `masked`, with as many lines as it has: a private key becomes a mask on each of its lines."""
    text = PRIVATE_KEY.sub(_on_each_line, text)
    whole = masked(text)
    if whole.count("\n") == text.count("\n"):
        return whole
    return "\n".join(masked(line) for line in text.split("\n"))


def _on_each_line(match: re.Match[str]) -> str:
    return "\n".join([MASK] * (match[0].count("\n") + 1))


def _behind(match: re.Match[str]) -> str:
    """Put the mask in place of the value, quotes and all else kept."""
    done = _is_done(match["value"]) or is_harmless("password", _unquoted(match["value"]))
    return match[0] if done else _with(match, _quoted(match["value"]))


def _named(text: str, head: re.Pattern[str]) -> Iterator[str]:
    """Yield the pieces of *text*, values of secret names masked; another value may hold names: `--export=A,TOKEN=…`."""
    done = 0
    for match in head.finditer(text):
        sure = is_secret(match["name"])
        if match.start() < done or not (sure or may_be_secret(match["name"])) or _is_path(text, match):
            continue
        if not sure and not _is_credential(text, match.end()):
            continue
        value = VALUE.match(text, match.end())
        if value is not None and value[0].startswith(MASK):
            yield text[done : match.end()] + MASK  # what follows may have names of its own: "&X-Amz-Signature=…"
            done = match.end() + len(MASK)
        elif value is not None:
            yield text[done : match.end()] + _value(match["name"], value[0])
            done = value.end()
    yield text[done:]


def _is_credential(text: str, at: int) -> bool:
    """Return whether the value there is one whatever its name: a long hexadecimal number, random letters, a login."""
    match = VALUE.match(text, at, at + _MOST_CREDENTIAL)
    value = match[0] if match is not None else ""
    plain = _unquoted(value[: len(value) - len(_kept(value))]) if value else ""
    if _PATH.fullmatch(plain):
        return False
    if CREDENTIAL.fullmatch(plain):
        return True
    try:
        return b":" in base64.b64decode(plain, validate=True) and len(plain) >= _LEAST_LOGIN
    except ValueError:
        return False


def _is_path(text: str, head: re.Match[str]) -> bool:
    """Return whether a file is spoken of: `/etc/passwd: Permission denied`."""
    return text[max(0, head.start() - 1) : head.start()] == "/" and "=" not in head[0]


def _value(name: str, value: str) -> str:
    """Return what may be shown of the value behind a secret's name."""
    kept = _kept(value)
    own = value[: len(value) - len(kept)]
    if _is_done(value) or any(is_harmless(name, _unquoted(part)) for part in (value, own)):
        return value
    return _quoted(own) + kept


def _if_named(match: re.Match[str]) -> str:
    return _with(match, _value(match["name"], match["value"])) if is_secret(match["name"]) else match[0]


def _kept(value: str) -> str:
    """Return the end of an unquoted value that is not its own: the next name, the brackets around it."""
    if value[0] in "\"'\\|>":
        return ""
    follows = NEXT.search(value)
    return value[follows.start() :] if follows else ""


def _if_like_one(match: re.Match[str]) -> str:
    """Mask what stands behind a secret's name in a sentence, if it looks like one."""
    value, name = match["value"], match["name"]
    plain = _unquoted(value).rstrip(".!?)")
    if _is_done(value) or is_harmless(name, plain):
        return match[0]
    is_given = is_password(name) and bool(match["verb"]) and (value[0] in "\"'" or plain.lower() not in SAYS)
    mixed = any(letter.isdigit() for letter in plain) and any(letter.isalpha() for letter in plain)
    return _with(match, _quoted(value)) if is_given or mixed and len(plain) >= _least(name) else match[0]


def _least(name: str) -> int:
    """Return how long a word of letters and digits behind *name* has to be: "token is 128k"."""
    return 5 if is_password(name) else 8


def _if_random(match: re.Match[str]) -> str:
    before = match.string[max(0, match.start() - 8) : match.start()].lower()
    if HASH.search(before) or HASH.match(match[0].lower()) or not _looks_random(match[0]):
        return match[0]
    return MASK


def _looks_random(word: str) -> bool:
    """Return whether small letters, capitals and digits follow each other as in random base 62, not as in a name."""
    piece = max(re.split(r"[^A-Za-z0-9]", word), key=len)
    kinds = [letter.isdigit() + 2 * letter.isupper() for letter in piece]
    if len(piece) < 20 or len(set(kinds)) < 3 or piece.startswith(("ZN", "Z1", "Z2")):
        return False
    changes = [kind != other for kind, other in zip(kinds, kinds[1:], strict=False)].count(True)
    return changes >= 0.45 * (len(piece) - 1)


def _user(match: re.Match[str]) -> str:
    """Mask the password of a shapes.URL, and a user's name that is a token."""
    user = match["user"] if match["user"] is not None else match["alone"]
    shown = MASK if len(user) >= 16 and any(letter.isdigit() for letter in user) else user
    password = match["password"]
    if password is None:
        return f"{match['scheme']}{shown}@"
    shown_password = password if _is_done(password) or is_harmless("password", password) else MASK
    return f"{match['scheme']}{shown}:{shown_password}@"


def _with(match: re.Match[str], shown: str) -> str:
    """Return the match with *shown* in place of its value."""
    start, end = (place - match.start() for place in match.span("value"))
    return match[0][:start] + shown + match[0][end:]


def _quoted(value: str) -> str:
    """Return the mask in the quotes of *value*."""
    if "\n" in value:  # `|` and lines below it, or three quotes around several
        first, indent, *_ = re.split(r"\n([ \t]*)", value, maxsplit=1)
        return (first if first in _BLOCK else MASK) + ("\n" + indent + MASK) * value.count("\n")
    quote = next((mark for mark in ('\\"', '"', "'") if value.startswith(mark)), "")
    return quote + MASK + (quote if len(value) > len(quote) and value.endswith(quote) else "")


def _is_done(value: str) -> bool:
    return value.lstrip("\\\"'").startswith(MASK)


def _unquoted(value: str) -> str:
    return value.strip("\\\"'").rstrip(",;)]}") if value[:1] not in "$`" else value


# What a secret looks like, and where one stands: patterns, each of them bounded.
#
# Groups: *name* says what the value is, *between* parts the two, *value* is what may be masked. `++` and `*+` give
# nothing back, so a long line without any secret costs no more than reading it.

SAYS = frozenset(
    (
        "required", "wrong", "incorrect", "invalid", "missing", "not", "set", "empty", "needed", "stored", "unknown",
        "too", "correct", "ok", "the", "a", "an", "in", "asked", "kept", "never", "hidden", "expired", "given", "read",
        "optional", "from", "used", "sent", "your", "my", "this", "that", "it", "be", "enter", "log", "login", "access",
        "authenticate", "protected", "one", "same", "different", "only", "masked", "now", "always", "also",
    )
)  # fmt: skip
NEXT = re.compile(r"[,;&]++(?=[A-Za-z_][\w.-]*+=)|[,;)\]}\\]++$")
HASH = re.compile(r"(?:sha\d{1,3}|md5|blake\w{0,4})[:=-](?=$|.{20})")
_TOKENS = (
    r"hf_[A-Za-z0-9]{16,}+",
    r"api_org_[A-Za-z0-9]{16,}+",
    r"gh[pousr]_[A-Za-z0-9]{16,}+",
    r"github_pat_\w{16,}+",
    r"gl(?:pat|ptt|dt|rt|cbt|soat|ft|agent|imt|oas)-[\w.-]{16,}+",
    r"[sr]k-(?=[\w-]{0,60}?\d)(?=[\w-]{0,60}?[A-Za-z]{3})[\w-]{16,}+",
    r"[srp]k_(?:live|test)_[A-Za-z0-9]{10,}+",
    r"(?:AKIA|ASIA|ABIA|ACCA|AROA|AIDA)[A-Z0-9]{16}(?![A-Z0-9])",
    r"xox[a-z]-[\w-]{10,}+",
    r"xapp-[\w-]{10,}+",
    r"(?<!-)eyJ[\w-]{8,}+\.[\w-]{4,}+(?:\.[\w-]*+){0,3}",
    r"AIza[\w-]{30,}+",
    r"ya29\.[\w-]{16,}+",
    r"npm_[A-Za-z0-9]{30,}+",
    r"pypi-[\w-]{16,}+",
    r"(?:nvapi|pplx|ntn|dapi|dop_v1|doo_v1|gsk|r8|lin_api|shpat|wandb_v1|tvly|fw|csk|rpa|vcp)[_-](?=\w*\d)\w[\w-]{19,}+",
    r"SG\.[\w-]{16,}+\.[\w-]{16,}+",
    r"https://hooks\.slack\.com/services/[\w/]+",
    r"MUNGE:[\w+/=:]{20,}+",
    r"dapi[0-9a-f]{32}(?![0-9a-z])",
    r"(?:sbp_|key-|lsv2_(?:pt|sk)_)[0-9a-f]{32}[0-9a-f_]*+",
    r"PMAK-[0-9a-f]{24}-[0-9a-f]{32,}+",
    r"sq0[a-z]{3}-[\w-]{20,}+",
    r"(?i:AGE-SECRET-KEY-1)[A-Za-z0-9]{50,}+",
)
PRIVATE_KEY = re.compile(
    r"-----BEGIN (?:[A-Z0-9]+ ){0,4}PRIVATE KEY(?: BLOCK)?-----"
    r"(?s:.)*?(?:-----END (?:[A-Z0-9]+ ){0,4}PRIVATE KEY(?: BLOCK)?-----|\Z)"
)
# What is left of a key that began before the text does: its last lines, and lines of base 64 as such files have them.
KEY_END = re.compile(
    r"(?:(?<=\n)|\A)(?:[^\n]{0,100}\n)?[^\n]{0,100}-----END (?:[A-Z0-9]+ ){0,4}PRIVATE KEY(?: BLOCK)?-----"
)
KEY_LINE = re.compile(
    r"(?m)^(?P<between>[^\w\n]{0,12}(?:\w{1,16}[^\w\n]{1,12})?)"
    r"(?P<value>(?=[A-Za-z0-9+/]*?[A-Z])(?=[A-Za-z0-9+/]*?[g-z])(?=[A-Za-z0-9+/]*?\d)[A-Za-z0-9+/]{60,76}={0,2})(?=\r?$)"
)
KNOWN = re.compile(r"(?<![A-Za-z0-9_])(?:" + "|".join(_TOKENS) + ")")
RANDOM = re.compile(r"(?<![\w+/=:%-])[A-Za-z0-9+_-]{32,256}+(?![\w+-])={0,2}")
URL = re.compile(
    r"(?<![\w+.-])(?P<scheme>[A-Za-z][A-Za-z0-9+.-]{1,20}+://)"
    r"(?:(?P<user>[^\s'\"<>/?#@:]{0,256}+):(?P<password>(?!\d{1,5}/)[^\s'\"<>]{0,512})|(?P<alone>[^\s'\"<>/?#@:]{1,512}+))"
    r"@(?=[\w\[$])"
)
# What is a secret behind a name that often says none: `"key": "0123…"` of kaggle.json.
CREDENTIAL = re.compile(
    r"[0-9a-fA-F]{32,256}|(?=[\w+/-]{0,200}?\d)(?=[\w+/-]{0,200}?[A-Za-z])(?![\w-]{0,60}[a-z]{9})[\w+/-]{24,256}={0,2}"
)
_QUOTED = r"\"(?:[^\"\\\n]|\\.)*+\"|'(?:[^'\\\n]|\\.)*+'"
_VALUE = (
    rf"(?:\"{{3}}[^\"]*+\"{{3}}|{_QUOTED}|\\+\"(?:(?!\\+\").)*+(?:\\+\")?|[\"'][^\n]*+|"
    r"[|>][+-]?[ \t]*+\n[ \t]++[^\n]++|(?:[^\s'\"<]|<(?!/)|(?<=\w)['\"](?=\w))++)"
)
_GAP = r"(?:[ \t]|\\\n){1,40}+"
VALUE = re.compile(_VALUE)
NAMED = re.compile(
    r"(?<![\w.-])-{0,2}(?P<name>[A-Za-z_][\w.-]{2,120}+)[\\\"'\])]{0,4}+[ \t]{0,8}+"
    r"[:=]=?+>?+[ \t]{0,8}+"
)
CALL = re.compile(r"\([ \t]{0,8}+b?([\"'])(?P<name>[A-Za-z_][\w.-]{2,120}+)\1[ \t]{0,8}+,[ \t]{0,8}+b?(?=[\"'])")
OPTION = re.compile(rf"(?<![\w-])--?(?P<name>[A-Za-z][\w-]{{2,80}}+)['\"]?,?{_GAP}(?!-)")
SET = re.compile(
    r"(?<![\w.-])(?:setenv|set(?:[ \t]{1,8}-\w{1,8}){0,4}|export)[ \t]{1,8}+" rf"(?P<name>\w{{3,120}}+){_GAP}"
)
XML = re.compile(r"<(?P<name>[A-Za-z][\w.-]{2,80}+)(?P<between>>)(?P<value>[^<\n]{1,4096}+)(?=</)")
SAID = re.compile(
    r"(?<![\w.-])(?P<name>(?i:password|passphrase|passwd|passcode|secret|token|api[ _-]?key|access[ _-]?key))"
    rf"(?P<between>[ \t]{{1,8}}+(?P<verb>(?i:is|was|to|of)[ \t:]{{1,8}}+)?)(?P<value>{_QUOTED}|(?![:=])[^\s,;'\"]++)"
)
HEADER = re.compile(
    r"(?i)(?<![\w-])(?P<name>(?:proxy-)?authorization|(?:set-)?cookie|x-(?:[a-z]{1,20}-){0,4}(?:key|token|auth)(?![\w-]))"
    r"(?P<between>['\"]?[ \t]{0,4}+[:=][ \t]{0,4}+['\"]?)(?P<value>[^\r\n'\"]++)"
)
SCHEME = re.compile(r"(?<!\w)(?P<between>(?:(?i:bearer)|Basic|Token)[ \t]{1,4}+)(?P<value>[\w.~+/=-]{12,}+)")
LOGIN = re.compile(
    r"(?<![\w-])(?P<between>(?:wandb|comet|neptune|clearml|huggingface-cli|hf)(?:[ \t]auth)?[ \t]+login[ \t]+"
    r"(?:--?(?!token)[\w-]+[ \t]+){0,4}(?=['\"]|\S{0,200}?\d|\S{20})|"
    r"sshpass[ \t]{1,8}-p[ \t]{0,8}|docker[ \t]+login[^\n]{0,200}?[ \t]-p[ \t]+|"
    r"ssh-keygen[ \t](?:[^\n]{0,200}?[ \t])?-N[ \t]+|(?:un)?zip[ \t](?:[^\n]{0,200}?[ \t])?-P[ \t]*+|"
    r"7za?[ \t](?:[^\n]{0,200}?[ \t])?-p|"
    r"mysql(?:dump|admin)?[ \t](?:[^\n]{0,200}?[ \t])?-p|curl[ \t](?:[^\n]{0,400}?[ \t])?(?:-u|--user)[ \t=]{0,4}|"
    r"login[ \t]{1,8}\S{1,100}[ \t]{1,8}password[ \t]{1,8})"
    rf"(?P<value>{_QUOTED}|[^\s'\"-]\S*+)"
)
# "API key must be 40 characters long, yours was 39: …"; a hash behind / or @ is another's.
KEY_LATER = re.compile(
    r"(?<![A-Za-z])(?P<between>(?i:api[ _-]?key)(?![A-Za-z])[^\n]{1,100}?)"
    r"(?<![\w/@=.-])(?P<value>[0-9a-f]{32,64})(?![\w.])"
)
TOKEN_LATER = re.compile(
    r"(?<![A-Za-z])(?P<name>(?i:token|password|passphrase))"
    r"(?P<between>(?:[ \t]{1,3}[^\s:=]{1,40}+){1,6}:[ \t]{1,3})(?P<verb>)"
    r"(?P<value>(?=[\w+-]{0,80}?\d)(?=[\w+-]{0,80}?[A-Za-z])[\w+-]{16,}+)(?![./:])"
)
PIPED = re.compile(
    r"(?<!\w)(?P<between>(?:echo|printf)[ \t]{1,8}(?:-[neE]{1,3}[ \t]{1,8})?(?:['\"]%s(?:\\n)?['\"][ \t]{1,8})?)"
    rf"(?P<value>{_QUOTED}|[^\s'\"|$`-][^\s'\"|]*+)(?=[ \t]{{0,8}}\|[ \t]{{0,8}}"
    r"(?:sudo[ \t]+-S|kinit|passwd|chpasswd|gpg[ \t][^\n]{0,200}?--passphrase-fd|[^\n|]{1,200}?--password-stdin|"
    r"(?:wandb|huggingface-cli|hf)[ \t][^\n]{0,20}?login))"
)
