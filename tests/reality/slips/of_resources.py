"""Slips of resources/: what the site has not, what is beyond it, and what it demands and nobody says."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path
from typing import Any, Iterator, Mapping, Optional

import tomllib

from tests.reality.slips.forms import swapped
from tests.reality.slips.script import Script
from tests.reality.slips.slip import Change, Slip

_SITES = Path(__file__).resolve().parents[3] / "site_configs"
_ELSEWHERE = {"ncsa-delta": b"gpu-debug", "nersc-perlmutter": b"gpuA100x4", "psc-bridges2": b"gpuA40x4",
              "sdsc-expanse": b"gpu-a100", "purdue-anvil": b"GPU-shared", "tacc-vista": b"gpu-a100",
              "tacc-lonestar6": b"gh", "tacc-stampede3": b"gpu-a100-dev", "olcf-frontier": b"gpuH200x8",
              "ncsa-deltaai": b"gpuA100x4", "alcf-polaris": b"gpu_hack_prio", "alcf-aurora": b"preemptable",
              }  # fmt: skip
_ACCOUNTS = (b"my_project", b"bbka", b"m1234", b"TG-ABC123456")


@cache
def facts(site: str) -> Mapping[str, Any]:
    """Return what the site's file says, {} of a cluster that nobody described."""
    path = _SITES / f"{site}.toml"
    return tomllib.loads(path.read_text()) if path.exists() and not site.startswith("generic") else {}


def said(script: Script, *names: str) -> Optional[re.Match[bytes]]:
    """Return the directive that says an option, its value as the first group; None where there is not just one."""
    words = "|".join(re.escape(name) for name in names).encode()
    found = list(
        re.finditer(
            rb"(?m)^#(?:SBATCH|PBS)[^\n#]*?[ \t](?:%s)(?:=|[ \t]+|(?<=-[A-Za-z]))([^\s#]+)" % words, script.text
        )
    )
    return found[0] if len(found) == 1 else None


PARTITION = ("--partition", "-p", "-q")
TIME, NODES, MEMORY = ("--time", "-t"), ("--nodes", "-N"), ("--mem",)
GPUS, CPUS, ACCOUNT = ("--gpus-per-node",), ("--cpus-per-task", "-c"), ("--account", "-A")


SHORT = {"--account": ("-A",), "--partition": ("-p",), "--constraint": ("-C",), "--time": ("-t",), "--qos": ("-q",),
         "--nodes": ("-N",)}  # fmt: skip


def put(names: tuple[str, ...], value: "bytes | Any") -> Change:
    """Give the option another value: bytes, or what a function makes of script and old value (None: nothing)."""

    def change(script: Script) -> Optional[bytes]:
        found = said(script, *names)
        if found is None:
            return None
        new = value(script, found[1]) if callable(value) else value
        return script.put(found.start(1), found.end(1), new) if new and new != found[1] else None

    return change


def dropped(names: tuple[str, ...]) -> Change:
    """Leave the option out, with its line where it is alone there."""

    def change(script: Script) -> Optional[bytes]:
        found = said(script, *names)
        if found is None:
            return None
        line = script.text.find(b"\n", found.start())
        alone = re.fullmatch(rb"#(?:SBATCH|PBS)[ \t]+\S+(?:[= \t]\S+)?[ \t]*", script.text[found.start() : line])
        return script.put(found.start(), line + 1, b"") if alone else None

    return change


def place(script: Script) -> Mapping[str, Any]:
    """Return the partition or queue that the directives name, {} unknown."""
    found, own = said(script, *PARTITION), facts(script.case.site)
    name = found[1].decode() if found is not None else ""
    known = {**own.get("partition", {}), **own.get("queue", {})}
    return known.get(name, {})


def kinds(script: Script) -> list[Mapping[str, Any]]:
    """Return the kinds of node of that partition."""
    own = facts(script.case.site).get("node", {})
    return [own[name] for name in place(script).get("node_kinds", ()) if name in own]


def most(script: Script, key: str) -> Optional[int]:
    """Return the most of something that a node there has; None unknown of one of them."""
    every = [kind.get(key) for kind in kinds(script)]
    return max(every) if every and all(every) else None


def beyond(key: str, more: int) -> Any:
    def value(script: Script, old: bytes) -> Optional[bytes]:
        highest = most(script, key)
        return b"%d" % (highest + more) if highest and b":" not in old else None

    return value


def long_time(form: str) -> Any:
    """One hour beyond what the partition allows, or much more, in a form of sbatch's."""

    def value(script: Script, old: bytes) -> Optional[bytes]:
        limit = place(script).get("max_walltime", "")
        match = re.fullmatch(r"(\d+):(\d\d):(\d\d)", limit)
        if match is None:
            return None
        hours = int(match[1]) + (1 if form != "days" else 48)
        return {"an hour": b"%d:00:00" % hours, "days": b"%d-00:00:00" % (hours // 24 + 1),
                "minutes": b"%d" % (hours * 60), "days and hours": b"%d-%02d" % divmod(hours, 24)}[form]  # fmt: skip

    return value


def more_nodes(script: Script, old: bytes) -> Optional[bytes]:
    limit = place(script).get("max_nodes")
    return b"%d" % (limit + 1) if limit else None


def fewer_nodes(script: Script, old: bytes) -> Optional[bytes]:
    least = place(script).get("min_nodes", 1)
    return b"%d" % (least - 1) if least > 1 else None


def misspelt(how: str) -> Any:
    def value(script: Script, old: bytes) -> Optional[bytes]:
        name = old
        return {"a letter less": name[:2] + name[3:], "a letter twice": name[:2] + name[1:], "capitals": name.upper(),
                "small": name.lower(), "underscores": name.replace(b"-", b"_"),
                "a plural": name + b"s"}[how] if len(name) > 4 else None  # fmt: skip

    return value


def _known(script: Script) -> bool:
    return bool(facts(script.case.site))


def _placed(script: Script) -> bool:
    return bool(place(script))


def _select(pattern: bytes, new: Any) -> Change:
    """Change the first chunk of a select."""

    def change(script: Script) -> Optional[bytes]:
        found = re.search(rb"(?m)^#PBS[ \t]+-l[ \t]*select=[^\n]*$", script.text)
        if found is None:
            return None
        text = new(script) if callable(new) else new
        return script.swap(pattern, text, found.span()) if text else None

    return change


def _chunk(key: str, name: bytes, more: int) -> Change:
    def new(script: Script) -> Optional[bytes]:
        own = facts(script.case.site).get("node", {})
        every = [kind.get(key) for kind in own.values()]
        return b"%s=%d" % (name, max(every) + more) if every and all(every) else None

    return _select(rb"\b" + name + rb"=\d+", new)


def _with_chunk(key: str, name: bytes, more: int) -> Change:
    def new(script: Script) -> Optional[bytes]:
        own = facts(script.case.site).get("node", {})
        every = [kind.get(key) for kind in own.values()]
        return rb"\1:%s=%d" % (name, max(every) + more) if every and all(every) else None

    return _select(rb"(select=\d+)", new)


def demanded(script: Script) -> Iterator[str]:
    for demand in facts(script.case.site).get("demand", {}).values():
        if demand.get("effect") in ("refused", "") and demand.get("applies", "always") == "always":
            yield from demand.get("options", ())


def _named(name: str) -> Any:
    """Return a name that other clusters have, None where this one has it too."""
    return lambda script, old: name.encode() if name not in facts(script.case.site).get("partition", {}) else None


def _nodes(script: Script, value: Any) -> Optional[bytes]:
    number = value(script, b"")
    return b"select=" + number if number else None


def _all(key: str, times: int, more: int, unit: bytes = b"") -> Change:
    """Ask for *times* what a node has, and *more*, of CPUs or of memory."""

    def value(script: Script, old: bytes) -> Optional[bytes]:
        highest = most(script, key)
        threads = kinds(script)[0].get("threads_per_core", 1) if highest and key == "cores" else 1
        return b"%d%s" % (highest * threads * times + more, unit) if highest else None

    return put(MEMORY if key == "memory_gib" else CPUS, value)


def _by_gres(script: Script) -> Optional[bytes]:
    highest = most(script, "gpus")
    return script.swap(rb"(?<=--gres=gpu:)((?:\w+:)?)\d+", rb"\g<1>%d" % (highest + 1)) if highest else None


def _an_hour_more(script: Script) -> Optional[bytes]:
    clock = long_time("an hour")(script, b"")
    return script.swap(rb"walltime=[\d:]+", b"walltime=" + clock) if clock else None


def _undemanded(name: str) -> Change:
    """Leave out an option that the site demands of every job."""
    out = dropped((name, *SHORT.get(name, ())))
    return lambda script: out(script) if name[2:] in set(demanded(script)) else None


def _has(key: str) -> Any:
    return lambda script: bool(most(script, key))


_MISSPELT = ("a letter less", "a letter twice", "capitals", "small", "underscores", "a plural")
_DEMANDED = ("--account", "--constraint", "--time", "--gpus-per-node", "--partition", "--qos", "--mem", "--nodes")
_NO_CONSTRAINTS = ("gpus", "a100", "GPU", "gpu80", "nvidia", "hbm80", "haswell")

SLIPS = [
    Slip("a partition that is none", ("MPL207",), _placed,
         {how: put(PARTITION, misspelt(how)) for how in _MISSPELT}, dressed=False),
    Slip("a partition of another site", ("MPL207",), _placed,
         {"of another": put(PARTITION, lambda script, old: _ELSEWHERE.get(script.case.site)),
          "gpu": put(PARTITION, _named("gpu")), "batch": put(PARTITION, _named("batch")),
          "long": put(PARTITION, b"long")}, dressed=False),
    Slip("longer than the partition allows", ("MPL206",), lambda script: _placed(script) and not script.is_pbs,
         {form: put(TIME, long_time(form)) for form in ("an hour", "days", "minutes", "days and hours")},
         dressed=False),
    Slip("longer than the queue allows", ("MPL206", "MPL216"), lambda script: _placed(script) and script.is_pbs,
         {"an hour": _an_hour_more}, dressed=False),
    Slip("more nodes than the partition allows", ("MPL206",), lambda script: bool(place(script).get("max_nodes")),
         {"one more": put(NODES, more_nodes),
          "of PBS": _select(rb"select=\d+", lambda script: _nodes(script, more_nodes))}, dressed=False),
    Slip("fewer nodes than the queue wants", ("MPL206",), lambda script: place(script).get("min_nodes", 1) > 1,
         {"of PBS": _select(rb"select=\d+", lambda script: _nodes(script, fewer_nodes))}, dressed=False),
    Slip("more GPUs than a node has", ("MPL204", "MPL203", "MPL214"), _has("gpus"),
         {"one more": put(GPUS, beyond("gpus", 1)), "four more": put(GPUS, beyond("gpus", 4)), "by gres": _by_gres,
          "of a chunk": _with_chunk("gpus", b"ngpus", 1)}, dressed=False),
    Slip("more CPUs than a node has", ("MPL210", "MPL215", "MPL311"), _has("cores"),
         {"of a task": _all("cores", 1, 1), "four times": _all("cores", 4, 0),
          "of a chunk": _with_chunk("cores", b"ncpus", 400)}, dressed=False),
    Slip("more memory than a node has", ("MPL211", "MPL215"), _has("memory_gib"),
         {"a G more": _all("memory_gib", 1, 1, b"G"), "twice": _all("memory_gib", 2, 0, b"G"),
          "in megabytes": _all("memory_gib", 2048, 0), "in terabytes": put(MEMORY, b"16T"),
          "of a chunk": _with_chunk("memory_gib", b"mem", 9000)}, dressed=False),
    Slip("an account of another form", ("MPL219", "MPL201"),
         lambda script: bool(facts(script.case.site).get("account_shapes")),
         {account.decode(): put(ACCOUNT, account) for account in _ACCOUNTS}, dressed=False),
    Slip("what the site demands is not said", ("MPL201",), _known,
         {name: _undemanded(name) for name in _DEMANDED}, dressed=False),
    Slip("file systems are not said", ("MPL201",), lambda script: script.case.site.startswith("alcf"),
         {"left out": swapped(rb"^#PBS[ \t]+-l[ \t]+filesystems=\S+[ \t]*\n", b""),
          "out of a list": swapped(rb"(#PBS[^\n]*?)[,:]filesystems=[\w:]+", rb"\1"),
          "by a comma": swapped(rb"filesystems=(\w+):(\w+)", rb"filesystems=\1,\2")}, dressed=False),
    Slip("a constraint that is none", ("MPL224", "MPL201", "MPL207"),
         lambda script: script.case.site == "nersc-perlmutter",
         {word: put(("--constraint", "-C"), word.encode()) for word in _NO_CONSTRAINTS}, dressed=False),
]  # fmt: skip
