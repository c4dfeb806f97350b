"""A model behind a real HTTP server on loopback: what is sent, what is believed, and every way to fail."""

from __future__ import annotations

import json
import socket
import ssl
import subprocess
from pathlib import Path

import pytest
from maple_agents.ask.models.http import HttpModel
from maple_agents.ask.models.protocol import Limit, Message, ModelError
from maple_agents.base.slots import Origin, Slot, Slots
from maple_agents.request import by_model
from maple_agents.request.by_model import of_slots

from tests.agents.models.failures import FAILURES, KEY, Failure
from tests.agents.models.served import Handler, Reply, completion, raw, saying, served

SCHEMA = of_slots()
ASKED = [Message("system", "read"), Message("user", "four nodes, password=hunter2-canary")]
ANSWER = {"slots": [{"slot": "nodes", "value": 4, "quote": "four nodes"}]}
SAID = json.dumps(ANSWER)


def model(url: str, **more: bool) -> HttpModel:
    return HttpModel(url, "tiny", KEY, **more)


def test_a_question_holds_schema_bounds_and_key_and_no_secret():
    with served(saying(SAID)) as server:
        assert model(server.url).answer(ASKED, SCHEMA, Limit(20, 77)) == ANSWER
    (one,) = server.asked
    assert one.path == "/v1/chat/completions"
    assert one.headers["authorization"] == f"Bearer {KEY}"
    assert one.body["model"] == "tiny" and one.body["max_tokens"] == 77 and one.body["stream"] is False
    assert one.body["response_format"] == {
        "type": "json_schema",
        "json_schema": {"name": "answer", "strict": True, "schema": dict(SCHEMA)},
    }
    assert [turn["role"] for turn in one.body["messages"]] == ["system", "user"]
    assert one.body["messages"][1]["content"] == "four nodes, password=[masked]"
    assert b"canary" not in one.raw and KEY.encode() not in one.raw


@pytest.mark.parametrize(
    "text",
    [SAID, f"```json\n{SAID}\n```", f"<think>nodes?\n[1]</think>\n{SAID}", f"\n {SAID}\n"],
    ids=["bare", "fenced", "thought about", "spaced"],
)
def test_an_answer_is_read_in_the_ways_that_models_write_it(text):
    with served(saying(text)) as server:
        assert model(server.url).answer(ASKED, SCHEMA, Limit(20)) == ANSWER


def takes(*words: str) -> Reply:
    """Return a reply that refuses bodies which hold other schema words than *words*."""

    def reply(handler: Handler) -> None:
        asked = handler.server.asked[-1].body
        form = asked.get("response_format", {}).get("type") or ("guided_json" if "guided_json" in asked else "plain")
        refusal = json.dumps({"error": {"message": f"{form} is not supported"}}).encode()
        handler.give(*((200, completion(SAID)) if form in words else (400, refusal)))

    return reply


@pytest.mark.parametrize(("form", "calls"), [("json_schema", 1), ("guided_json", 2), ("json_object", 3), ("plain", 4)])
def test_a_server_is_asked_in_the_form_that_it_takes_and_then_at_once(form, calls):
    with served(takes(form)) as server:
        one = model(server.url)
        assert one.answer(ASKED, SCHEMA, Limit(20)) == ANSWER
        assert len(server.asked) == calls
        assert one.answer(ASKED, SCHEMA, Limit(20)) == ANSWER
        assert len(server.asked) == calls + 1
    told = json.dumps(server.asked[-1].body)
    assert "additionalProperties" in told  # the schema, in whatever words
    assert not any(b"canary" in asked.raw for asked in server.asked)


def test_newer_servers_are_asked_in_their_own_words():
    def reply(handler: Handler) -> None:
        old = "max_tokens" in handler.server.asked[-1].body
        refusal = b'{"error": {"message": "Unsupported parameter: use max_completion_tokens"}}'
        handler.give(*((400, refusal) if old else (200, completion(SAID))))

    with served(reply) as server:
        assert model(server.url).answer(ASKED, SCHEMA, Limit(20, 55)) == ANSWER
    assert server.asked[-1].body["max_completion_tokens"] == 55
    assert "temperature" not in server.asked[-1].body
    assert server.asked[-1].body["response_format"]["type"] == "json_schema"


@pytest.mark.parametrize("name", FAILURES)
def test_each_failure_is_one_line_and_the_grammar_stands(name):
    failure: Failure = FAILURES[name]
    grammar = Slots([Slot("nodes", 4, Origin("request", "four nodes", 0, 10))])
    lines: list[str] = []
    with served(failure.reply) as server:
        one = model(server.url)
        with pytest.raises(ModelError) as caught:
            one.answer(ASKED, SCHEMA, Limit(failure.seconds))
        found = by_model.read("four nodes", one, grammar, limit=Limit(failure.seconds), tell=lines.append, reads=Slots)
    (line,) = lines
    assert failure.says in str(caught.value)
    for told in (str(caught.value), line):
        assert told.isprintable() and len(told) < 600
        assert KEY not in told and one.name in told
    assert found.as_json() == {"nodes": 4}


def test_a_server_that_is_not_there_is_one_line():
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    with pytest.raises(ModelError, match="is the server up"):
        model(f"http://127.0.0.1:{port}/v1").answer(ASKED, SCHEMA, Limit(20))


def test_a_server_that_takes_no_connection_is_given_up_in_time():
    """Its queue of connections is full, so that connecting hangs."""
    with socket.create_server(("127.0.0.1", 0), backlog=0) as full:
        waiting = [socket.socket() for _ in range(4)]
        for one in waiting:
            one.setblocking(False)
            one.connect_ex(full.getsockname())
        with pytest.raises(ModelError, match=r"no answer in time|timed out"):
            model(f"http://127.0.0.1:{full.getsockname()[1]}/v1").answer(ASKED, SCHEMA, Limit(0.3))
        for one in waiting:
            one.close()


def test_a_redirect_is_not_followed_and_gets_no_key():
    with (
        served(saying(SAID)) as other,
        served(lambda one: one.give(302, b"", Location=other.url)) as server,
        pytest.raises(ModelError, match="another address"),
    ):
        model(server.url).answer(ASKED, SCHEMA, Limit(20))
    assert other.asked == [] and len(server.asked) == 1


def test_one_deadline_holds_for_all_forms_together():
    """Each refusal comes soon enough, but not all of them."""

    def reply(handler: Handler) -> None:
        import time

        time.sleep(0.25)
        handler.give(400, b"{}")

    with served(reply) as server, pytest.raises(ModelError):
        model(server.url).answer(ASKED, SCHEMA, Limit(0.6))
    assert len(server.asked) <= 3


@pytest.mark.parametrize(
    "url",
    [
        "http://example.org/v1",
        "http://10.0.0.1/v1",
        "http://127.0.0.1.example.org/v1",
        "http://localhost.example.org:80/v1",
        "ftp://127.0.0.1/v1",
        "file:///etc/passwd",
        "https:///v1",
        "https://user:secret-canary@example.org/v1",
        "https://example.org/v1?key=secret-canary",
        "https://example.org:99999/v1",
        "https://exam\nple.org/v1",
        "https://exam ple.org/v1",
        "https://exämple.org/v1",
        "http://[::1",
    ],
)
def test_no_other_url_is_taken(url):
    with pytest.raises(ModelError) as caught:
        model(url)
    assert str(caught.value).isprintable()
    assert "secret-canary@" not in str(caught.value) and "user:" not in str(caught.value)


@pytest.mark.parametrize(
    ("url", "path"),
    [
        ("https://example.org", "/v1/chat/completions"),
        ("https://example.org/", "/v1/chat/completions"),
        ("https://example.org/v1/", "/v1/chat/completions"),
        ("https://example.org/llm/v2", "/llm/v2/chat/completions"),
        ("https://example.org/v1/chat/completions", "/v1/chat/completions"),
        ("http://[::1]:8000/v1", "/v1/chat/completions"),
        ("http://localhost:8000", "/v1/chat/completions"),
    ],
)
def test_the_path_of_the_chat_is_found(url, path):
    assert model(url)._address.path == path


def test_plain_http_to_another_host_is_for_those_who_allow_it():
    assert model("http://inference.example.org/v1", plain_http=True).name == "http://inference.example.org/v1#tiny"


def test_a_name_that_leads_to_another_host_is_not_asked_by_plain_http(monkeypatch):
    """The name says loopback, the connection does not."""
    monkeypatch.setattr("maple_agents.ask.models.http.is_here", lambda host: host == "localhost")
    with served(saying(SAID)) as server, pytest.raises(ModelError, match="leads to another host"):
        model(server.url.replace("127.0.0.1", "localhost")).answer(ASKED, SCHEMA, Limit(20))
    assert server.asked == []


@pytest.fixture(scope="module")
def certificate(tmp_path_factory) -> Path:
    """A certificate for localhost that nobody has signed, with its key in the same file."""
    folder = tmp_path_factory.mktemp("tls")
    key, cert = folder / "key.pem", folder / "cert.pem"
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=localhost"]
        + ["-addext", "subjectAltName=DNS:localhost", "-keyout", str(key), "-out", str(cert)],
        check=True,
        capture_output=True,
        timeout=120,
    )
    both = folder / "both.pem"
    both.write_bytes(cert.read_bytes() + key.read_bytes())
    return both


@pytest.mark.parametrize("trusted", [True, False])
def test_https_asks_only_a_server_whose_certificate_is_trusted(certificate, trusted, monkeypatch):
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate)
    if trusted:
        monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
    with served(saying(SAID), context) as server:
        one = model(f"https://localhost:{server.server_address[1]}/v1")
        if trusted:
            assert one.answer(ASKED, SCHEMA, Limit(20)) == ANSWER
        else:
            with pytest.raises(ModelError, match="not trusted"):
                one.answer(ASKED, SCHEMA, Limit(20))
    assert len(server.asked) == int(trusted)


def test_a_proxy_sees_neither_key_nor_request(monkeypatch):
    with raw(lambda connection, seen: connection.sendall(b"HTTP/1.1 502 Bad Gateway\r\n\r\n")) as (port, seen):
        monkeypatch.setenv("https_proxy", f"http://name:word@127.0.0.1:{port}")
        monkeypatch.delenv("no_proxy", raising=False)
        with pytest.raises(ModelError, match="502"):
            model("https://inference.example.org/v1").answer(ASKED, SCHEMA, Limit(20))
    assert seen[0].startswith(b"CONNECT inference.example.org:443 ")
    assert KEY.encode() not in b"".join(seen) and b"four nodes" not in b"".join(seen)


@pytest.mark.parametrize(
    "answer",
    [b"", b"\x00" * 100, b"HTTP/1.1 xyz\r\n\r\n", b"HTTP/1.1 200 OK\r\n" + b"A: b\r\n" * 200 + b"\r\n"]
    + [b"HTTP/1.1 200 OK\r\nX: " + b"y" * 100_000 + b"\r\n\r\n"]
    + [
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: -5\r\n\r\n",
    ],
    ids=["nothing", "zeros", "no status", "200 headers", "a long header", "chunks of no length", "a negative length"],
)
def test_what_is_no_http_is_one_line(answer):
    with raw(lambda connection, seen: connection.sendall(answer)) as (port, _), pytest.raises(ModelError) as caught:
        model(f"http://127.0.0.1:{port}/v1").answer(ASKED, SCHEMA, Limit(20))
    assert str(caught.value).isprintable()
