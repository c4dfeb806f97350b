"""Secrets that nobody has, made from a seed, each in a place where secrets are found."""

from __future__ import annotations

import base64
import json
import random
import string
from collections.abc import Callable, Iterator
from typing import NamedTuple

LETTERS = string.ascii_letters + string.digits
HEX = "0123456789abcdef"


class Canary(NamedTuple):
    """A text with a secret in it; *pieces* are what must not survive."""

    text: str
    pieces: tuple[str, ...]


def _any(chance: random.Random, length: int, of: str = LETTERS) -> str:
    return "".join(chance.choice(of) for _ in range(length))


def _word(chance: random.Random) -> str:
    """A password as people choose them: a word with a digit and perhaps a sign."""
    return _any(chance, chance.randint(6, 14)) + str(chance.randint(0, 99)) + chance.choice(("", "!", "#x", "%y", "*z"))


def _jwt(chance: random.Random) -> str:
    parts = (json.dumps({"alg": "HS256", "n": _any(chance, 4)}), json.dumps({"sub": _any(chance, 9)}))
    start = ".".join(base64.urlsafe_b64encode(part.encode()).decode().rstrip("=") for part in parts)
    return f"{start}.{_any(chance, 43, LETTERS + '-_')}"


KNOWN: tuple[Callable[[random.Random], str], ...] = (
    lambda c: "hf_" + _any(c, 34),
    lambda c: c.choice(("ghp_", "gho_", "ghs_", "ghr_", "ghu_")) + _any(c, 36),
    lambda c: "github_pat_" + _any(c, 22) + "_" + _any(c, 59),
    lambda c: "sk-" + _any(c, 47) + "7",
    lambda c: "sk-proj-" + _any(c, 40, LETTERS + "-_") + "a7b",
    lambda c: "sk-ant-api03-" + _any(c, 60, LETTERS + "-_"),
    lambda c: c.choice(("AKIA", "ASIA")) + _any(c, 16, string.ascii_uppercase + string.digits),
    lambda c: f"xoxb-{_any(c, 11, string.digits)}-{_any(c, 12, string.digits)}-{_any(c, 24)}",
    lambda c: "glpat-" + _any(c, 20, LETTERS + "-_"),
    lambda c: "AIza" + _any(c, 35, LETTERS + "-_"),
    lambda c: "npm_" + _any(c, 36),
    lambda c: "pypi-AgEIcHlwaS5vcmc" + _any(c, 60, LETTERS + "-_"),
    lambda c: "nvapi-" + _any(c, 63, LETTERS + "-_") + "1",
    lambda c: "gsk_" + _any(c, 51) + "1",
    lambda c: f"SG.{_any(c, 22)}.{_any(c, 43)}",
    _jwt,
)
AROUND = (
    "{}", "export HF_TOKEN={}", "token {} is mine", "'{}'", '"{}",', "a={};b=2", "login({})", "https://host/?q={}&b=1",
    "git clone https://{}@github.com/org/repo.git", "Authorization: Bearer {}", "key: {}\n", "[{}]", "{}\n{}", "x\t{}",
)  # fmt: skip
NAMED = (
    "password={}", "export PASSWORD={}", "export DB_PASSWORD='{}'", 'export WANDB_API_KEY="{}"', "api_key: {}",
    '"api_key": "{}"', '{{\\"password\\": \\"{}\\"}}', "passwd = {}", "--password {}", "--password={}",
    "--hf-token {}", "--api_key '{}'", "setenv COMET_API_KEY {}", "set -gx MY_SECRET {}",
    "aws_secret_access_key = {}", "secret: '{}'", "os.environ['HF_TOKEN'] = '{}'",
    'os.environ.setdefault("API_TOKEN", "{}")', 'login(token="{}")', "client_secret={}&x=1",
    "sbatch --export=ALL,WANDB_API_KEY={},NODES=2 job.sh", "docker run -e MYSQL_ROOT_PASSWORD={} mysql",
    "Pwd={};Uid=me", "postgres://me:{}@db.example.org:5432/x", "https://me:{}@example.org/path",
    "my password is {} thanks", "<password>{}</password>", "wandb login {}", "wandb login --relogin {}",
    "curl -u me:{} https://example.org", "curl --user 'me:{}' https://example.org", "sshpass -p {} ssh host",
    "machine api.example.org login me password {}", "Authorization: Basic {}", "Cookie: session={}", "X-Api-Key: {}",
    "PGPASSWORD={} psql", "passphrase: |\n  {}\n", 'password: "{} and more words"', "the token is {}.",
    "mysql -u me -p{} db", "-Dpassword={}", "spring.datasource.password={}", 'apiKey: "{}"', "ACCESS_KEY={}",
)  # fmt: skip


def canaries(count: int, seed: int = 20) -> Iterator[Canary]:
    """Yield *count* canaries: tokens of known kinds, values of secret names, private keys."""
    chance = random.Random(seed)
    for number in range(count):
        if number % 10 == 9:
            yield _private_key(chance)
        elif number % 2:
            secret = KNOWN[number // 2 % len(KNOWN)](chance)
            yield Canary(chance.choice(AROUND).replace("{}", secret), (secret,))
        else:
            secret = chance.choice((_word, lambda c: _any(c, 40, HEX), lambda c: _any(c, 24)))(chance)
            yield Canary(NAMED[number // 2 % len(NAMED)].format(secret), (secret,))


def _private_key(chance: random.Random) -> Canary:
    kind = chance.choice(("RSA ", "OPENSSH ", "EC ", "ENCRYPTED ", ""))
    lines = [_any(chance, 64, LETTERS + "+/") for _ in range(chance.randint(2, 12))]
    newline = chance.choice(("\n", "\r\n", "\\n", "\n    "))
    end = chance.choice((f"-----END {kind}PRIVATE KEY-----\nafter", ""))
    return Canary(newline.join([f"before -----BEGIN {kind}PRIVATE KEY-----", *lines, end]), tuple(lines))
