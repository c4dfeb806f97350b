"""`maple mcp` as an assistant's program speaks with it: a process, and lines over its pipes."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.agents.test_json_whole import JOB, LOG, STEPS

CALLERS = Path(__file__).parents[2] / "build/callers-venv/bin/python"
SERVER = [sys.executable, "-P", "-c", "from maple_agents.cli.start import maple; maple()", "mcp"]


class Client:
    """The other end of the pipes."""

    def __init__(self, folder: Path, *words: str) -> None:
        kept = {name: value for name, value in os.environ.items() if not name.startswith("MAPLE")}
        environ = {**kept, "HOME": str(folder), "MAPLE_SOCKET": "/proc/nowhere/socket"}
        self.process = subprocess.Popen([*SERVER, *words], cwd=folder, env=environ, stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, stderr=subprocess.PIPE)  # fmt: skip
        self.count = 0

    def line(self, text: bytes) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(text + b"\n")
        self.process.stdin.flush()

    def reply(self) -> Any:
        assert self.process.stdout is not None
        return json.loads(self.process.stdout.readline())

    def ask(self, method: str, **params: Any) -> Any:
        """Return the whole reply to a request."""
        self.count += 1
        self.line(json.dumps({"jsonrpc": "2.0", "id": self.count, "method": method, "params": params}).encode())
        reply = self.reply()
        assert reply["id"] == self.count and reply["jsonrpc"] == "2.0"
        return reply

    def call(self, name: str, **arguments: Any) -> Any:
        """Return the result of a tool."""
        return self.ask("tools/call", name=name, arguments=arguments)["result"]

    def close(self) -> tuple[int, bytes]:
        """Return the exit code once its input has ended, and what it said on stderr."""
        _, err = self.process.communicate(timeout=60)
        return self.process.returncode, err


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Where the person works."""
    for name, text in {"job.sh": JOB, "slurm.out": LOG, "train.log": STEPS, "-x.sh": JOB}.items():
        (tmp_path / name).write_text(text)
    os.mkfifo(tmp_path / "fifo")
    return tmp_path


@pytest.fixture
def client(folder: Path):
    made = Client(folder)
    yield made
    assert made.close() == (0, b"")


def test_it_greets_in_the_version_that_is_asked_for_and_else_in_its_newest(client):
    for wanted, given in (("2025-06-18", "2025-06-18"), ("2024-11-05", "2024-11-05"), ("1999-01-01", "2025-11-25")):
        result = client.ask("initialize", protocolVersion=wanted, capabilities={}, clientInfo={"name": "t"})["result"]
        assert result["protocolVersion"] == given
        assert result["capabilities"] == {"tools": {}} and result["serverInfo"]["name"] == "maple"


def test_notifications_get_no_reply(client):
    client.line(b'{"jsonrpc":"2.0","method":"notifications/initialized"}')
    client.line(b"")
    assert client.ask("ping")["result"] == {}


@pytest.mark.parametrize(
    ("line", "code", "asked"),
    [
        (b"{", -32700, None),
        (b"\xff\xfe", -32700, None),
        (b"[" * 100_000, -32700, None),
        (b"7", -32600, None),
        (b"[]", -32600, None),
        (b'{"id":1,"method":"ping"}', -32600, None),
        (b'{"jsonrpc":"2.0","id":"a","method":"resources/list"}', -32601, "a"),
        (b'{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"submit"}}', -32602, 2),
        (b'{"jsonrpc":"2.0","id":3,"method":"tools/call","params":[1]}', -32602, 3),
        (b'{"jsonrpc":"2.0","id":4,"method":"ping","params":{"x":"' + b"x" * (9 << 20) + b'"}}', -32700, None),
    ],
    ids=lambda value: repr(value)[:50],
)
def test_what_cannot_be_answered_is_an_error_and_the_next_is_answered(client, line, code, asked):
    client.line(line)
    reply = client.reply()
    assert (reply["error"]["code"], reply["id"]) == (code, asked)
    assert client.ask("ping")["result"] == {}


def test_several_in_one_line_are_answered_in_one_line(client):
    client.line(b'[{"jsonrpc":"2.0","id":1,"method":"ping"},{"jsonrpc":"2.0","id":2,"method":"tools/list"}]')
    assert [one["id"] for one in client.reply()] == [1, 2]


def test_tools_are_those_six_and_none_writes(client):
    tools = {tool["name"]: tool for tool in client.ask("tools/list")["result"]["tools"]}
    assert list(tools) == ["check", "plan", "new", "fix", "progress", "history"]
    assert all(tool["annotations"]["readOnlyHint"] for tool in tools.values())
    assert not {"output", "apply"} & {name for tool in tools.values() for name in tool["inputSchema"]["properties"]}


@pytest.mark.parametrize(
    "named", [{"path": "job.sh"}, {"script": JOB}, {"path": "-x.sh"}], ids=lambda one: next(iter(one))
)
def test_check_and_plan_answer_as_the_commands_do(client, named):
    found = client.call("check", site="ncsa-delta", **named)["structuredContent"]
    assert found["verdict"] == "repaired" and found["plan"]["steps"][0]["groups"]
    ranks = client.call("plan", site="ncsa-delta", options=["--nodes=3"], **named)["structuredContent"]
    assert ranks["allocation"]["nodes"] == 3


def test_new_lists_what_is_missing_and_takes_it_by_slots(client):
    asked = {"request": "train with FSDP on 2 nodes, run train.py", "site": "ncsa-delta"}
    first = client.call("new", **asked)["structuredContent"]
    assert first["script"] is None and "account" in first["missing"]
    slots = {"account": "abcd-delta-gpu", "walltime": "01:00:00", "nodes": 3}
    second = client.call("new", slots=slots, **asked)["structuredContent"]
    assert "--nodes=3" in second["script"] and second["missing"] == []


def test_fix_and_progress_read_logs(client):
    cause = client.call("fix", logs=["slurm.out"], path="job.sh", site="ncsa-delta")["structuredContent"]["cause"]
    assert cause["class"] != "unknown"
    result = client.call("progress", logs=["train.log"])
    assert result["structuredContent"]["progress"]["step"] == 50
    assert json.loads(result["content"][0]["text"]) == result["structuredContent"]


@pytest.mark.parametrize(
    ("name", "arguments", "says"),
    [
        ("check", {"path": "none.sh"}, "none.sh"),
        ("check", {"path": "job.sh", "script": JOB}, "script or path"),
        ("check", {}, "script or path"),
        ("check", {"path": "job.sh", "options": ["other.sh"]}, "begins with -"),
        ("check", {"path": "job.sh", "site": "--take=1"}, "site"),
        ("check", {"path": "job.sh", "take": 1}, "take"),
        ("check", {"path": "a\0b"}, "path"),
        ("check", {"path": "fifo"}, "no regular file"),
        ("plan", {"path": "/dev/zero"}, "no regular file"),
        ("new", {"path": "fifo"}, "no regular file"),
        ("fix", {"path": "fifo", "logs": ["slurm.out"]}, "no regular file"),
        ("progress", {"logs": ["fifo"]}, "no regular file"),
        ("check", {"path": "job.sh", "options": ["--comment=" + "x" * 3_000_000]}, "too long"),
        ("check", {"path": "job.sh", "options": ["-x\ud800"]}, "no text"),
        ("new", {"request": "x" * 4_000_000}, "too long"),
        ("new", {"request": "train.py", "output": "made.sh"}, "output"),
        ("new", {"request": "train.py", "slots": {"output=x --verify": "1"}}, "slots"),
        ("fix", {"logs": ["slurm.out"], "path": "job.sh", "apply": True}, "apply"),
        ("fix", {"job": "--submit"}, "job"),
        ("history", {}, "service"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_what_a_tool_cannot_do_is_a_result_that_says_so(client, folder, name, arguments, says):
    before = sorted(path.name for path in folder.glob("*.sh"))
    result = client.call(name, **arguments)
    assert result["isError"] and says in result["content"][0]["text"]
    assert "Traceback" not in result["content"][0]["text"]
    assert sorted(path.name for path in folder.glob("*.sh")) == before


def test_a_value_that_looks_like_an_option_is_none(client, folder):
    """Behind every tool stands a command line: a request, a name, a script's text stay what they are."""
    client.call("new", request="--output=made.sh train.py with DDP on 2 nodes", site="ncsa-delta")
    client.call("history", job="--why")
    client.call("check", script=JOB, options=["--take=1", "--", "--json"], site="ncsa-delta")
    assert not (folder / "made.sh").exists()


def test_with_leave_to_write_new_files_are_made_and_none_is_overwritten(folder):
    client = Client(folder, "--allow", "write")
    tools = {tool["name"]: tool for tool in client.ask("tools/list")["result"]["tools"]}
    assert [name for name, tool in tools.items() if not tool["annotations"]["readOnlyHint"]] == ["new", "fix"]
    asked = {"request": "train.py with DDP on 2 nodes, 1 hour, account abcd-delta-gpu", "site": "ncsa-delta"}
    assert not client.call("new", output="made.sh", **asked)["isError"]
    made = (folder / "made.sh").read_bytes()
    again = client.call("new", output="made.sh", **asked)
    assert again["isError"] and "made.sh" in again["content"][0]["text"] and (folder / "made.sh").read_bytes() == made
    assert (folder / "job.sh").read_text() == JOB
    assert client.close() == (0, b"")


JUDGE = """
import asyncio, sys
from mcp import ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client

async def main():
    server = StdioServerParameters(command=sys.argv[1], args=sys.argv[2:])
    async with stdio_client(server) as (read, write), ClientSession(read, write) as session:
        print((await session.initialize()).server_info.name)
        print(*(tool.name for tool in (await session.list_tools()).tools))
        said = await session.call_tool("check", {"path": "job.sh", "site": "ncsa-delta"})
        print(said.is_error, said.structured_content["verdict"])

asyncio.run(main())
"""


@pytest.mark.skipif(not CALLERS.exists(), reason="make callers-venv installs the protocol's own client")
def test_the_protocols_own_client_finds_nothing_amiss(folder):
    done = subprocess.run([CALLERS, "-c", JUDGE, *SERVER], cwd=folder, capture_output=True, text=True, timeout=120)
    assert done.stdout.splitlines() == ["maple", "check plan new fix progress history", "False repaired"], done.stderr
