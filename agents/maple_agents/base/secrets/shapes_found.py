"""What a secret looks like, and where one stands: patterns, each of them bounded.

Groups: *name* says what the value is, *between* parts the two, *value* is what may be masked. `++` and `*+` give
nothing back, so a long line without any secret costs no more than reading it.
"""

from __future__ import annotations

import re

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
