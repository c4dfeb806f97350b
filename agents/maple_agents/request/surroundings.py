"""What a job needs around it: file systems, a container image, an array, an environment."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from ..base.slots import Missing
from .language.lexemes import NAMED, SAID, WEAK, Line, Reading
from .language.vocabulary import either, listed, texts
from .language.words import spelt

# Patterns that are compiled when they are first needed: a request needs few of them.


class Late:
    """A pattern without regard to case. *needs*: pieces in lower case; where none of them stands it matches nowhere."""

    def __init__(self, pattern: str, *needs: str) -> None:
        self._pattern, self._needs = pattern, needs

    def finditer(self, text: str) -> Iterator[re.Match[str]]:
        """Yield the matches in *text*, from left to right."""
        low = text.lower()
        return (
            re.finditer(self._pattern, text, re.IGNORECASE) if any(piece in low for piece in self._needs) else iter(())
        )


_WORDS = texts("surroundings")
_SYSTEMS = Late(
    r"(?:file ?systems?|\bfs(?=[ \t]*[:=]))[\"'*]*(?:[ \t]*(?:[:=]|are\b|is\b|needed\b|in "
    r"use\b|used\b|should be\b|will be\b"
    r"|needs?\b)){0,4}[ \t]*(?P<names>(?:the )?[\"'`\[]*[a-z][a-z_]{2,20}\b(?!-)(?:[\"'`]*(?:[ "
    r"\t]*[:,+&/][ \t]*|[ \t]+and[ \t]+|[ \t]*,[ \t]*and[ \t]+)[\"'`]*(?:the )?[a-z][a-z_]{2,20}\b(?!-|[ "
    r"\t]+(?:nodes?|hours?|with)))*)",
    "file",
)
_SYSTEMS_AHEAD = Late(
    r"(?P<names>(?<![\w-])[a-z][a-z_]{2,20}(?:(?:[ \t]*[:,+&/][ \t]*|[ \t]+and[ \t]+|[ \t]*,[ \t]*and[ "
    r"\t]+)(?:the )?[a-z][a-z_]{2,20}){0,6})[\"'`]*[ \t]+file ?systems?\b",
    "file",
)
_LIST_ENDS = re.compile(r"[\"'`\]]*[ \t]*(?:[,.;:!?)\n]|$|and\b|are\b|on\b|please\b|for\b|with\b|in\b)")
_IS_KEY = re.compile(r"[ \t]*[:=]")
_NEXT_KEY = re.compile(r",[ \t]*\w+[ \t]*[:=][ \t]")  # "filesystems: home:flare, module: frameworks"
_NO_SYSTEM = listed(_WORDS["no_system"])
_SYSTEMS_ALONE = Late(
    r"(?<![\w:/.@-])(?:home(?::[a-z][a-z_]{2,20}){1,3}|[a-z][a-z_]{2,20}(?::[a-z][a-z_]{2,20}){0,2}:home)(?![\w:/@-]|\.\w)",
    "home",
)
_IMAGE = Late(
    r"(?<![\w/.-])(?P<image>(?:docker|library|oras|shub|https?|podman)://[\w./:@+-]+|(?:[~$.]?/"
    r"|\$\{?\w+\}?/)?[\w./${}~+-]*\w\.(?:sif|simg|sqsh|img)\b|(?:nvcr\.io|ghcr\.io|docker\.io"
    r"|quay\.io|registry\.[\w.-]+)/[\w./:@+-]+[\w])",
    "://",
    ".sif",
    ".simg",
    ".sqsh",
    ".img",
    ".io/",
    "registry.",
)
_IMAGE_KEYED = Late(
    r"\b(?:container|image|docker image|container image|(?:container )?shifter(?: image)?|apptainer|"
    r"singularity)[\"'*]*(?:\s*[:=]\s*|\s+(?:is |called |named )?)"
    r"[\"'`]?(?:docker:(?://)?)?(?P<image>[\w.-]+(?:/[\w.-]+)*(?::[\w.-]+)|[\w.-]+(?:/[\w.-]+)+(?::[\w"
    r".-]+)?)(?![\w/])",
    "container",
    "image",
    "shifter",
    "apptainer",
    "singularity",
)
_CONDA = Late(
    r"\b(?:conda|mamba|micromamba|anaconda|miniconda)[\"']?(?:[ \t-]+(?:activate|env(?:ironment)?"
    r"|environment|my|the|there|here|called|named|is|name|-n|from|run))*[ \t:=]+[\"'`]?(?P<name>[~/$.]?[\w./${}+-]*\w)",
    "conda",
    "mamba",
)
_CONDA_AHEAD = Late(
    r"(?:(?<=\s)|^|(?<=[\"'`]))(?P<name>[~/$]?[\w./+-]*\w)[\"'`]?\s+(?:conda|mamba)\s+env(?:ironment)?\b(?!\s*("
    r"?:called|named|[:=]))",
    "conda",
    "mamba",
)
_ENV_NAMED = Late(
    r"\b(?:env|environment)[ \t]+(?:called|named)[ \t]+[\"'`]?(?P<name>[\w.+-]*\w)|\b(?:env"
    r"|environment)[\"'*]*[ \t]*[:=][ \t]*[\"'`]?(?P<keyed>[\w.+-]*\w)(?![\w/(])",
    "env",
)
_VENV = Late(
    r"(?<![\w./~-])(?:venv|virtualenv|virtual env(?:ironment)?|uv env(?:ironment)?|python env(?:ironment)?)(?:[ "
    r"\t]+(?:in|at|is|under|path|called|named|from|located|lives|my|the))*[ \t:=]+[\"'`]?(?P<path>[~/$.][\w./${"
    r"}+-]*\w|\.venv|[\w.-]*(?:env|venv)[\w.-]*)",
    "env",
)
_ACTIVATE = Late(r"(?P<path>[~/$.]?[\w./${}~+-]*)/bin/activate\b", "activate")
_MODULE_CUE = Late(
    r"\b(?:modules?|ml)[\"'*]*(?P<verb>(?:[ \t]+(?:load|use|add|are|is|needed|required|called|named|to|the))*)"
    r"[ \t]*(?P<sign>[:=]?)[ \t]*(?=[\"'`]?[A-Za-z/$])",
    "module",
    "ml ",
)
_MODULE_AHEAD = Late(
    r"\b(?P<verb>load(?:s|ing)?|us(?:e|ing))? ?(?:the )?"
    r"[\"'`]?(?P<name>[A-Za-z][\w+-]*(?:/[\w.+-]*\w)*)[\"'`]? module\b",
    "module",
)
_MODULE = re.compile(r"[\"'`]?(?P<name>[A-Za-z/$][\w+{}-]*(?:[./][\w.+{}-]*\w)*)[\"'`]?")
_AND_MODULE = re.compile(r"(?P<list>[ \t]*(?:[,+&]|\band\b)(?:[ \t]*and\b)?[ \t]*)|[ \t]+")
_LIST_OF_MODULES_ENDS = re.compile(r"[ \t]*(?:[,;)\n]|\.(?:\s|$)|$)")
_VERSIONED = re.compile(r"(?<![\w/.$~:@=-])[A-Za-z][A-Za-z_+-]{1,20}\d{0,2}/\d+(?:\.\d+)+[\w-]*(?![\w/.-]*/)(?!\w)")
_ENV_AT = Late(
    r"(?<![\w./~$-])(?P<kind>conda|mamba|virtual|venv|virtualenv|python)?[ \t]*(?:env|environment|enviroment|venv|vir"
    r"tualenv)\b[\"'*]*"
    r"(?:[ \t]*[:=]|[ \t]+(?:is|lives|sits|at|in|under|from|located|lies|here|stored|path|there|a|my|the|"
    r"conda|virtualenv|venv)"
    r"(?![\w/-])){0,5}(?:[ \t]+[^\W\d_]+)?[ \t]*"
    r"[\"'`]?(?P<path>(?:~|\$\{?\w+\}?|\.{1,2})?/[\w./${}~+-]*\w)[\"'`]?(?P<after>["
    r" \t]*\([^)\n]{0,30}\))?",
    "env",
)
_NOT_A_NAME = listed(_WORDS["not_a_name"])
SOFTWARE = listed(_WORDS["software"])
_NO_MODULE = listed(_WORDS["no_module"])
_BEHIND_ARRAY = either(_WORDS["behind_array"])
_ARRAY_WORDS = re.compile(r"\barray\b", re.I)
_RANGE = r"\d{1,7}(?:-\d{1,7}(?::\d{1,5})?)?(?:,\d{1,7}(?:-\d{1,7}(?::\d{1,5})?)?)*(?:%\d{1,5})?"


def read(line: Line, text: str) -> Iterator[Reading]:
    """Yield what stands around the job. *text* as written."""
    yield from _filesystems(text)
    yield from _filesystems_alone(text)
    yield from _images(text)
    yield from _environments(text)
    yield from _arrays(line, text)


def _filesystems(text: str) -> Iterator[Reading]:
    behind = [match.span() for match in _SYSTEMS.finditer(text)]
    for pattern in (_SYSTEMS, _SYSTEMS_AHEAD):
        for match in pattern.finditer(text):
            if pattern is _SYSTEMS_AHEAD and any(start < match.end() and match.start() < end for start, end in behind):
                continue  # "project abc filesystem flare"
            group = _NEXT_KEY.split(match.group("names"))[0]
            ends = _LIST_ENDS.match(text, match.end("names")) and not _IS_KEY.match(text, match.end("names"))
            if pattern is _SYSTEMS and "," in group and not ends:
                group = group.rpartition(",")[0]  # "home and eagle, charge it to": the list ended at the comma
            names = re.findall(r"[a-z_]+", re.sub(r"\b(?:and|the)\b", " ", group.lower()))
            if names and not _NO_SYSTEM.intersection(names):
                value = ":".join(sorted(set(names)))
                yield Reading("filesystems", value, match.start(), match.end(), SAID)


def _filesystems_alone(text: str) -> Iterator[Reading]:
    """Yield "home:eagle": nothing else is written so."""
    for match in _SYSTEMS_ALONE.finditer(text):
        yield Reading("filesystems", ":".join(sorted(match.group().lower().split(":"))), match.start(), match.end())


def _images(text: str) -> Iterator[Reading]:
    for match in _IMAGE.finditer(text):
        if match.group("image").startswith("http") and not match.group("image").endswith((".sif", ".img", ".sqsh")):
            continue
        yield Reading("container", match.group("image"), match.start("image"), match.end("image"))
    for match in _IMAGE_KEYED.finditer(text):
        if (
            re.search(r"[a-z]", match.group("image"), re.I)
            and not re.match(r"\w+:$", match.group("image"))
            and "/" in match.group("image") + "/"
        ):
            yield Reading("container", match.group("image"), match.start("image"), match.end("image"))


def _environments(text: str) -> Iterator[Reading]:
    """Yield environments as the line that brings them: `conda activate X`, `source X/bin/activate`, `module load X`."""
    at_paths = list(_environments_at(text))
    for pattern in (_CONDA, _CONDA_AHEAD, _ENV_NAMED):
        for match in pattern.finditer(text):
            if any(each.start < match.end() and match.start() < each.end for each in at_paths):
                continue  # "the conda env at /work/x" is no "at"
            name = next(group for group in match.groups() if group)
            keyed = pattern is _ENV_NAMED and match.group("keyed")
            if (
                not name.isascii()
                or name.lower() in _NOT_A_NAME
                or spelt(name.lower())
                or keyed
                and re.match(r"(?:conda|venv|module|none)$", name, re.I)
            ):
                continue
            if (
                pattern is _CONDA
                and re.match(r"[ \t]*env", text[match.end() : match.end() + 5])
                and not re.search(r"activate", match.group())
            ):
                continue
            yield Reading("environment", "conda activate " + name, match.start(), match.end())
    yield from at_paths
    for match in _VENV.finditer(text):
        if any(reading.start <= match.start("path") < reading.end for reading in at_paths):
            continue
        path = match.group("path")
        if "activate" not in path and path.lower() not in _NOT_A_NAME:
            yield Reading("environment", "source %s/bin/activate" % path, match.start(), match.end())
    for match in _ACTIVATE.finditer(text):
        yield Reading("environment", "source %s/bin/activate" % match.group("path"), match.start(), match.end())
    yield from _environments_alone(text, at_paths)
    yield from _modules_named(text)


def _environments_at(text: str) -> Iterator[Reading]:
    """Yield the environment that lies at a path: "the conda env lives in /work/x", "virtualenv: $SCRATCH/v"."""
    for match in _ENV_AT.finditer(text):
        path, around = match.group("path"), (match.group() + (match.group("after") or "")).lower()
        kind = re.search(r"conda|mamba|venv|virtual", around.replace(path.lower(), " ")) or re.search(
            r"conda|mamba", text.replace(path, " ").lower()
        )
        if path.endswith("/bin/activate") or not kind and not re.search(r"/\.?(?:v|virtual)envs?(?:/|$)", path):
            continue  # of which kind it is, nobody said
        conda = "conda" in kind.group() or "mamba" in kind.group() if kind else False
        activate = "conda activate %s" if conda else "source %s/bin/activate"
        yield Reading("environment", activate % path, match.start(), match.end())


_ENV_PATH = re.compile(
    r"(?<![\w./:=-])(?P<path>(?:~|\$\{?\w+\}?|\.{1,2})?/?(?:[\w.${}+-]+/)*(?P<kind>\.?(?:v|virtual|conda[_-]?|mamba)?envs?)/[\w.+-]*\w)"
    r"(?![\w/]|\.\w)"
)


def _environments_alone(text: str, taken: Sequence[Reading]) -> Iterator[Reading]:
    """Yield the environment whose path alone says it, "$SCRATCH/venvs/ds"; of "envs" another word says which kind."""
    for match in _ENV_PATH.finditer(text):
        others = text.replace(match["path"], " ")
        conda = re.search(r"(?i)conda|mamba", others)
        before = text[: match.start()].rstrip()[-24:]
        if any(each.start <= match.start() < each.end for each in taken) or re.search(r"--?[\w-]+[ =]*$", before):
            continue
        if "/" not in match["path"].strip("/") or match["path"].endswith("/bin/activate"):
            continue
        kind = "venv" if match["kind"].lstrip(".").startswith(("v", "virtual")) else "conda" if conda else ""
        kind = kind or ("venv" if re.search(r"(?i)\bv(?:irtual)?env", others) else "")
        activate = {"conda": "conda activate %s", "venv": "source %s/bin/activate"}.get(kind)
        if activate:
            yield Reading("environment", activate % match["path"], match.start(), match.end())


def _modules_named(text: str) -> Iterator[Reading]:
    """Yield modules: behind the word or before it, and what its form shows to be one: "rocm/6.2.4"."""
    for match in _MODULE_CUE.finditer(text):
        is_told = bool(match.group("verb").strip() or match.group("sign"))
        names, end = _module_list(text, match.end(), is_told)
        verb = "use" if "use" in match.group("verb").split() and names[:1] and names[0][0] in "/$" else "load"
        if names:
            yield Reading("environment", "module %s %s" % (verb, " ".join(names)), match.start(), end)
    for match in _MODULE_AHEAD.finditer(text):
        name = match.group("name")
        if _is_module(name) or match.group("verb") and name.lower() not in _NOT_A_NAME | _NO_MODULE:
            yield Reading("environment", "module load " + name, match.start(), match.end())
    for match in _VERSIONED.finditer(text):
        yield Reading("environment", "module load " + match.group(), match.start(), match.end(), SAID)


def _module_list(text: str, at: int, is_told: bool) -> tuple[list[str], int]:
    """Return the modules that stand from *at* on, and where they end. *is_told*: a verb or a colon stands before them.

    The first may be any name there, or at the end of its clause; the others are software, or end the line.
    """
    names: list[str] = []
    end, joint = at, None
    alone = not text[:at].rpartition("\n")[2].strip(" -*").partition(" ")[2]
    while (match := _MODULE.match(text, at)) and match.group("name").lower() not in _NOT_A_NAME | _NO_MODULE:
        ends = bool(_LIST_OF_MODULES_ENDS.match(text, match.end()))
        listed_so = joint is not None and bool(joint.group("list")) and alone
        if not (_is_module(match.group("name")) or not names and (is_told or ends) or listed_so):
            break
        names.append(match.group("name"))
        end, joint = match.end(), _AND_MODULE.match(text, match.end())
        if joint is None:
            break
        at = joint.end()
    return names, end


def _is_module(name: str) -> bool:
    """Tell whether a name can only be a module's: known software, or with a version."""
    return (
        name.lower() in SOFTWARE or bool(re.search(r"/|\d", name)) and not re.search(r"\.(?:py|sh|ya?ml|json)$", name)
    )


_INDEX = re.compile(r"ARRAY_(?:TASK_ID|INDEX)")  # as a program reads it in a task of an array


def doubts(line: Line, readings: Mapping[str, Reading]) -> Iterator[Missing]:
    """Yield the question for the array where one is spoken of, or the program reads its index, and no range is said."""
    spoken = next(line.find(r"(?:job|slurm|pbs) array|array (?:job|jobs)"), None) is not None
    program = str(readings["program"].value) if "program" in readings else ""
    if "array" not in readings and (spoken or _INDEX.search(program)):
        yield Missing("array", "an array is spoken of; say its indices: 0-9")


_FROM_TO = re.compile(
    r"(?i)(?<![\w.:/-])(?P<name>(?:[a-z]+[_/-]?)*)(?P<n>\d{1,5})(?P<end>\.\w+)?[ \t]*(?:to|until|till|through|bis|à|a|-"
    r"|–|\.{2,3}|…)[ \t]*(?P=name)(?P<m>\d{1,5})(?(end)(?P=end))(?P<most>%\d{1,4})?(?![\w:%])"
)


def _ranges(text: str) -> Iterator[Reading]:
    """Yield the one range of the text, "cfg_1.yaml ... cfg_12.yaml": an array's, if its index is read."""
    ranges = [match for match in _FROM_TO.finditer(text) if int(match.group("n")) < int(match.group("m"))]
    if len(ranges) == 1:
        first, last = int(ranges[0].group("n")), int(ranges[0].group("m"))
        yield Reading("array", "%d-%d%s" % (first, last, ranges[0].group("most") or ""), *ranges[0].span(), WEAK)


def _arrays(line: Line, text: str) -> Iterator[Reading]:
    """Yield the indices of an array, those behind the word first."""
    readings = list(_arrays_said(line, text))
    yield from readings or (_ranges(text) if _INDEX.search(line.written) else ())


def _arrays_said(line: Line, text: str) -> Iterator[Reading]:
    for match in line.find(r"array"):
        word = line.words[match.first]
        behind = re.compile(
            r"[\"'*]*(?:[ \t]+(?:%s))*[ \t]*[:=,]?[ \t]*(?:ind(?:ices|ex)|ids?|range)?[ \t]"
            r"*[:=]?[ \t]*\(?(?P<range>%s)(?P<to>[ "
            r"\t]*(?:to|until|till|through|\.\.\.?|–|a|bis|à)[ \t]*\d+)?\)?"
            r"(?![\w.:]|[ \t]*-?(?:hours?|hrs?|h|min|days?|nodes?|gpus?)\b)" % (_BEHIND_ARRAY, _RANGE),
            re.I,
        ).match(text, word.end)
        ahead = re.compile(
            r"(?P<n>\d{1,6}(?:-\d{1,6})?)(?:[ -](?:element|elements|task|tasks|way|job|jobs|member|times)|"
            r"[ ]as(?:[ ]an?)?)?[ -]+(?:job[ -])?$",
            re.I,
        ).search(text[max(0, word.start - 24) : word.start])
        if behind:
            value = behind.group("range") + ("-" + re.sub(r"\D", "", behind.group("to")) if behind.group("to") else "")
            start, end = word.start, behind.end()
        elif ahead:
            value, start, end = ahead.group("n"), word.start - len(ahead.group()), word.end
        else:
            continue
        most = re.match(
            r"[^.\n]{0,40}?\b(?:at most |max(?:imum)? |only |up to |no more than |running "
            r")?(?P<n>\d+|two|three|four|five|one) (?:at a time|at once|concurrently|simultaneously"
            r"|in parallel|running)",
            re.sub(r" +", " ", text[end : end + 120]),
            re.I,
        )
        if value.isdigit():
            if int(value) < 1:
                continue
            value = "1-%d" % int(value)
        if most and "%" not in value:
            value += "%" + {"one": "1", "two": "2", "three": "3", "four": "4", "five": "5"}.get(
                most.group("n").lower(), most.group("n")
            )
        yield Reading("array", value, start, end, NAMED if "=" in text[word.end : word.end + 2] else SAID)
