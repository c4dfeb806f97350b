"""What of the samples is believed: code decides, no model does.

Two samples have to say the same; it has to stand at the file and line that they name, where that line sets something
whose name speaks of it, and is no comment, no text and no prose; and it has to be of the kind and size that such a
value has.
"""

from __future__ import annotations

import io
import re
import tokenize
from collections.abc import Iterable, Mapping, Sequence

from ..names import Known, allowed, kept_value, plain, same
from .samples import Claim

AGREE = 2  # samples of the three
Lines = Mapping[str, Sequence[str]]  # of the files that were read

# Words of the key that a value is set by; a key of something beside the training speaks of nothing.
_WORDS = {
    "batch_size_per_device": "batch bs bsz microbatch",
    "batch_size_global": "batch bs bsz",
    "batch_size": "batch bs bsz batchsize",
    "learning_rate": "lr rate eta",
    "epochs": "epoch epochs ep",
    "steps": "steps iters iterations updates step iter",
    "gradient_accumulation": "accum accumulation accumulate acc",
    "sequence_length": "seq length len seqlen context block",
    "seed": "seed",
    "model": "model arch backbone net network checkpoint",
    "data": "data dataset corpus train datasets",
    "checkpoint": "checkpoint ckpt checkpoints",
    "resume": "resume",
    "output": "output out save outdir results run",
    "logs": "log logs logdir logging tensorboard",
    "precision": "precision dtype amp",
    "optimizer": "optimizer optim opt",
    "tensor_parallel": "tensor tp",
    "pipeline_parallel": "pipeline pp",
    "zero_stage": "zero stage",
}
NAMES = tuple(_WORDS)
_RANGES = {
    "batch_size_per_device": (1, 1 << 20), "batch_size_global": (1, 1 << 24), "batch_size": (1, 1 << 24),
    "learning_rate": (1e-9, 10), "epochs": (0.01, 1e6), "steps": (1, 1e9), "gradient_accumulation": (1, 65536),
    "sequence_length": (1, 1 << 24), "seed": (0, 1 << 63), "tensor_parallel": (1, 1024), "pipeline_parallel": (1, 1024),
    "zero_stage": (0, 3),
}  # fmt: skip
_PRECISIONS = re.compile(
    r"(?:b?fp?(?:8|16|32|64)|b?float(?:16|32|64)|half|double|tf32|amp|no|(?:16|32|64)(?:-(?:mixed|true))?|bf16-(?:mixed|true))",
    re.IGNORECASE,
)
_OTHERS = re.compile(
    r"(?:^|_)(?:eval|val|valid|validation|test|testing|predict|inference|infer|scheduler|sampler|warmup|warm|min|decay|"
    r"discriminator|generator|teacher|critic|reward|ref|reference|ema|gamma|every|interval|workers|tokenizer|old|unused|"
    r"default)(?:_|$)"
)
_SET = re.compile(r"(?P<key>[A-Za-z_][\w.\-]*)[\"']?\s*(?::\s*[\w.\[\], |]+?)?\s*[:=]\s*(?P<value>[^=].*)$")
_GIVEN = re.compile(r"--?(?P<key>[A-Za-z][\w.\-]*)(?:=|\s+)(?P<value>\"[^\"]*\"|'[^']*'|[^\s\"']+)")
_DECLARED = re.compile(r"[\"']--?(?P<key>[A-Za-z][\w.\-]*)[\"'].*?\bdefault\s*=\s*(?P<value>[^,)]+)")
_BLOCK = re.compile(r"[:\-]\s*[|>][+-]?\d?\s*(?:#.*)?$")
_OF_CODE = (
    ".py",
    ".yaml",
    ".yml",
    ".json",
    ".toml",
    ".cfg",
    ".ini",
    ".conf",
    ".gin",
    ".sh",
    ".sbatch",
    ".slurm",
    ".pbs",
)


def believed(samples: Sequence[Sequence[Claim]], lines: Lines, asked: Iterable[str]) -> tuple[Claim, ...]:
    """Return the claims that stand, one for each name that was *asked*; none where two different ones would."""
    right = []
    for name in asked:
        claims = [claim for each in samples for claim in _of(each, name)]
        agreed = [claim for claim in claims if sum(_is_same(claim, other) for other in claims) >= AGREE]
        standing = [claim for claim in agreed if is_right(claim, lines)]
        if standing and all(same(claim.value, standing[0].value) for claim in standing):
            right.append(standing[0])
    return tuple(right)


def is_right(claim: Claim, lines: Lines) -> bool:
    """Return whether a claim stands at its place, is set there by a key that speaks of it, and can be such a value."""
    return key_of(claim, lines) != ""


def key_of(claim: Claim, lines: Lines) -> str:
    """Return the key by which a right claim is set at its place; "" where it is not right."""
    keys = (key for key, written in settings(claim, lines)
            if _value(written) == claim.value and _speaks(key, claim.name))  # fmt: skip
    return next(keys, "") if _is_possible(claim) else ""


def settings(claim: Claim, lines: Lines) -> list[tuple[str, str]]:
    """Return what the line that a claim names sets: key and value; nothing of a comment, a text or a file of prose."""
    file = lines.get(claim.file, ())
    if not claim.file.lower().endswith(_OF_CODE) or not 1 <= claim.line <= len(file):
        return []
    text = _code(claim.file, file, claim.line)
    matches = [match for form in (_GIVEN, _DECLARED) for match in form.finditer(text)]
    if claim.file.endswith(".json") or not matches:
        matches += [match for piece in _pieces(text) if (match := _SET.search(piece))]
    return [(match["key"], match["value"]) for match in matches]


def _of(claims: Sequence[Claim], name: str) -> list[Claim]:
    """Return what one sample says of a name; a sample that says two things of it says nothing."""
    own = [claim for claim in dict.fromkeys(claims) if claim.name == name]
    return own[:1] if len({claim.value for claim in own}) == 1 else []


def _is_same(claim: Claim, other: Claim) -> bool:
    return same(claim.value, other.value) and (claim.file, claim.line) == (other.file, other.line)


def _is_possible(claim: Claim) -> bool:
    """Return whether the value is of the kind and size that its name wants."""
    kept = kept_value(Known(claim.name, 0), claim.value)
    if kept is None or not allowed(claim.name, claim.value) or claim.name not in _WORDS:
        return False
    if claim.name == "precision":
        return _PRECISIONS.fullmatch(claim.value.split(".")[-1]) is not None
    low, high = _RANGES.get(claim.name, (None, None))
    return low is None or high is None or low <= float(kept) <= high


def _speaks(key: str, name: str) -> bool:
    """Return whether a key names such a value of the training: `cfg.optim.lr` a learning rate, `eval_batch` nothing."""
    parts = [plain(part) for part in key.split(".")]
    if any(_OTHERS.search(part) for part in parts):
        return False
    return bool(set(parts[-1].split("_")) & set(_WORDS[name].split()))


def _value(written: str) -> str:
    """Return a value without quotes and what follows it: `3e-4,  # tuned` is `3e-4`."""
    text = written.strip().rstrip(",;").strip()
    quoted = re.match(r"[brfu]{0,2}([\"'])(.*?)\1", text, re.IGNORECASE)
    if quoted:
        return quoted[2]
    return re.split(r"[\s,;)\]}]", text, maxsplit=1)[0]


def _pieces(text: str) -> list[str]:
    """Return the settings of a line that holds several: `a=1, b=2`, `{"lr": 1, "bs": 2}`."""
    inner = re.sub(r"^[^({]*[({](.*?)[)}]?,?\s*$", r"\1", text) if re.search(r"[({].*[:=]", text) else text
    return re.split(r",(?![^\[(]*[\])])", inner)


def _code(name: str, lines: Sequence[str], number: int) -> str:
    """Return what of a line is code: nothing of comments, of texts over several lines, of blocks of YAML."""
    line = lines[number - 1]
    if name.endswith(".py"):
        return _python(lines, number)
    if name.endswith((".yaml", ".yml")) and _in_block(lines, number):
        return ""
    if name.endswith((".sh", ".sbatch", ".slurm", ".pbs")) and _in_document(lines, number):
        return ""
    if re.match(r"\s*(?:#|//|;)", line):
        return ""
    return re.split(r"\s#|\s//", line)[0] if not name.endswith(".json") else line


def _python(lines: Sequence[str], number: int) -> str:
    """Return the line without comments, and "" where it lies in a text of several lines, or does not parse."""
    line = lines[number - 1]
    try:
        for token in tokenize.generate_tokens(io.StringIO("\n".join(lines) + "\n").readline):
            if token.type == tokenize.COMMENT and token.start[0] == number:
                line = line[: token.start[1]]
            spans = token.start[0] < token.end[0] and token.start[0] <= number <= token.end[0]
            if token.type == tokenize.STRING and (spans or _is_alone(token, number)):
                return ""
    except (tokenize.TokenError, SyntaxError, IndentationError):
        return ""
    return line


def _is_alone(token: tokenize.TokenInfo, number: int) -> bool:
    """Return whether a text is all that its line has: a sentence, that sets nothing."""
    return (
        token.start[0] == token.end[0] == number
        and token.line.strip().rstrip(",") == token.string
        and ":" not in token.string[:1]
    )


def _in_block(lines: Sequence[str], number: int) -> bool:
    """Return whether a line of YAML is text of a block above it (`notes: |`)."""
    deep = _indent(lines[number - 1])
    for line in reversed(lines[: number - 1]):
        if line.strip() and _indent(line) < deep:
            if _BLOCK.search(line):
                return True
            deep = _indent(line)
    return False


def _in_document(lines: Sequence[str], number: int) -> bool:
    """Return whether a line of a script is text of a here-document."""
    end = ""
    for line in lines[: number - 1]:
        opened = re.search(r"<<-?\s*[\"']?(\w+)", line) if not end else None
        if opened:
            end = opened[1]
        elif end and line.strip() == end:
            end = ""
    return bool(end)


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip())
