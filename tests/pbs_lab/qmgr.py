"""What managers of a PBS lab see and change: hooks by qmgr; queues, nodes and the server as commands show them."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
from collections.abc import Mapping, Sequence
from typing import Any

from tests.pbs_lab.shape import PbsShape

Told = tuple[str, str, int]  # on stdout, on stderr, and the exit code


class Manager:
    """*folder*: where the hooks lie. Only what an administrator of Maple types is understood."""

    def __init__(self, folder: str, shape: PbsShape) -> None:
        self.folder, self.shape = folder, shape
        self.hooks: dict[str, dict[str, str]] = {}
        os.makedirs(folder, exist_ok=True)

    def hooks_of(self, event: str) -> list[str]:
        """Return the programs of the hooks that an event calls."""
        mine = [name for name, told in self.hooks.items() if event in told.get("event", "").split(",")]
        return [path for name in mine if os.path.exists(path := f"{self.folder}/{name}.py")]

    def typed(self, words: Sequence[str], stdin: str, cwd: str) -> Told:
        """Do what stands behind the last -c, as OpenPBS 23.06 does, or on the lines of stdin."""
        lines = [words[at + 1] for at, word in enumerate(words[:-1]) if word == "-c"][-1:] or stdin.splitlines()
        done = [self._line(shlex.split(line), line, cwd) for line in lines if line.strip()]
        return (
            "".join(one[0] for one in done),
            "".join(one[1] for one in done),
            max((one[2] for one in done), default=0),
        )

    def _line(self, words: list[str], line: str, cwd: str) -> Told:
        name = words[2] if len(words) > 2 else ""
        if words[0][0] in "pl" and words[1][:1] == "s":
            return self._server(), "", 0
        if words[:2] == ["create", "hook"] and name not in self.hooks:
            self.hooks[name] = {}
            return self._set(name, words[3:])
        if words[1:2] != ["hook"] or name not in self.hooks:
            return "", f"qmgr obj={name} svr=default: hook not found\nqmgr: Error (15176) returned from server\n", 1
        if words[0] == "delete":
            del self.hooks[name]
            return "", "", 0
        if words[0] == "import":
            shutil.copy(os.path.join(cwd, words[5]), f"{self.folder}/{name}.py")
            return "", "", 0
        if words[0] == "set":
            return self._set(name, words[3:])
        return (
            "".join([f"Hook {name}\n", *(f"    {key} = {value}\n" for key, value in self.hooks[name].items())]),
            "",
            0,
        )

    def _set(self, name: str, words: Sequence[str]) -> Told:
        for key, how, value in re.findall(r"(\w+) *(\+?=) *(\S+)", " ".join(words)):
            before = self.hooks[name].get(key, "")
            self.hooks[name][key] = f"{before},{value}" if how == "+=" and before else value
        return "", "", 0

    def _server(self) -> str:
        lines = [
            f"set queue {name} {key} = {value}\n"
            for name, told in self._queues().items()
            for key, value in told.items()
        ]
        return "".join([*lines, "set server scheduling = True\n"])

    def tells(self, words: Sequence[str]) -> str | None:
        """Return what `qstat -B`, `qstat -Q` or `pbsnodes` (-n) print, None where jobs are asked for."""
        letters = "".join(word[1:] for word in words if re.fullmatch(r"-[A-Za-z]+", word))
        if "n" in letters:
            return _shown(self._nodes(), "nodes", "%s", "json" in words)
        if "Q" in letters:
            return _shown(self._queues(), "Queue", "Queue: %s", "json" in words)
        if "B" in letters:
            return _shown(
                {"pbs01": {"server_state": "Active", "pbs_version": "23.06.06"}},
                "Server",
                "Server: %s",
                "json" in words,
            )
        return None

    def _queues(self) -> dict[str, dict[str, str]]:
        found: dict[str, dict[str, str]] = {}
        for one in self.shape.queues:
            limits = {
                "min.nodect": one.min_nodes,
                "max.nodect": one.max_nodes,
                "max.walltime": _clock(one.max_walltime),
            }
            own = {f"resources_{key}": str(value) for key, value in limits.items() if value}
            routed = {"from_route_only": "True"} if one.routed else {}
            found[one.name] = {"queue_type": "Execution", **own, **routed, "enabled": "True", "started": "True"}
        return found or {"workq": {"queue_type": "Execution", "enabled": "True", "started": "True"}}

    def _nodes(self) -> dict[str, dict[str, str]]:
        return {
            host.name: {
                "Mom": host.name, "state": "free", "resources_available.host": host.name,
                "resources_available.ncpus": str(host.cpus), "resources_available.mem": f"{host.memory_gib << 20}kb",
                **({"resources_available.ngpus": str(host.gpus)} if host.gpus else {}),
            }
            for host in self.shape.hosts
        }  # fmt: skip


def _clock(whole: int | None) -> str:
    return f"{whole // 3600:02}:{whole // 60 % 60:02}:{whole % 60:02}" if whole else ""


def _shown(told: Mapping[str, Mapping[str, Any]], group: str, title: str, as_json: bool) -> str:
    if as_json:
        return (
            json.dumps({"timestamp": 1763670600, "pbs_version": "23.06.06", "pbs_server": "pbs01", group: told}) + "\n"
        )
    lines = [
        [title % name, *(f"    {key} = {value}" for key, value in values.items()), ""] for name, values in told.items()
    ]
    return "".join(line + "\n" for part in lines for line in part)
