"""The ways in which a server fails, by name: a reply, and a word of the line that tells of it."""

from __future__ import annotations

import contextlib
import time
from typing import NamedTuple

from tests.agents.models.served import Handler, Reply, completion, saying

KEY = "the-servers-own-key-81723"


class Failure(NamedTuple):
    """*says* stands in the line. *seconds*: what the question may take; short where the server never ends."""

    reply: Reply
    says: str
    seconds: float = 20.0


def _never(handler: Handler) -> None:
    handler.until_gone()


def _drops(handler: Handler) -> None:
    """A byte of the body at a time, each soon enough for a time limit of one read."""
    handler.send_response(200)
    handler.send_header("Content-Length", "100000")
    handler.end_headers()
    with contextlib.suppress(OSError):
        for _ in range(1000):
            handler.wfile.write(b" ")
            time.sleep(0.02)


def _drops_of_headers(handler: Handler) -> None:
    with contextlib.suppress(OSError):
        handler.wfile.write(b"HTTP/1.1 200 OK\r\n")
        for _ in range(1000):
            handler.wfile.write(b"X")
            time.sleep(0.02)


def _only_informs(handler: Handler) -> None:
    with contextlib.suppress(OSError):
        for _ in range(1000):
            handler.wfile.write(b"HTTP/1.1 100 Continue\r\n\r\n")
            time.sleep(0.02)


def _endless(handler: Handler) -> None:
    """100 GB without a length, so that only reading tells how long it is."""
    handler.send_response(200)
    handler.send_header("Connection", "close")
    handler.end_headers()
    handler.close_connection = True
    with contextlib.suppress(OSError):
        for _ in range(100_000):
            handler.wfile.write(b" " * (1 << 20))


def _breaks_off(handler: Handler) -> None:
    handler.send_response(200)
    handler.send_header("Content-Length", "1000")
    handler.end_headers()
    handler.wfile.write(b'{"choices": [')
    handler.close_connection = True


def _streams(handler: Handler) -> None:
    handler.give(200, b"data: {}\n\ndata: [DONE]\n\n", Content_Type="text/event-stream")


def _status(status: int, body: bytes = b'{"error": {"message": "no"}}') -> Reply:
    return lambda handler: handler.give(status, body)


def _tells_the_key(handler: Handler) -> None:
    handler.give(401, b'{"error": {"message": "not ' + handler.headers["Authorization"].split()[1].encode() + b'"}}')


def _body(body: bytes, **headers: str) -> Reply:
    return lambda handler: handler.give(200, body, **headers)


FAILURES: dict[str, Failure] = {
    "never answers": Failure(_never, "no answer in time", 0.3),
    "sends drop by drop": Failure(_drops, "no answer in time", 0.3),
    "sends headers drop by drop": Failure(_drops_of_headers, "no answer in time", 0.3),
    "only says continue": Failure(_only_informs, "no answer in time", 0.3),
    "answers nothing": Failure(_body(b""), "empty"),
    "answers 100 MB": Failure(_body(b" " * 100_000_000), "more than"),
    "never stops": Failure(_endless, "more than"),
    "says it is 100 MB": Failure(lambda one: one.give(200, b"", Content_Length="104857600"), "more than"),
    "breaks off": Failure(_breaks_off, "broke off"),
    "streams": Failure(_streams, "streams"),
    "packs": Failure(_body(b"\x1f\x8b", Content_Encoding="gzip"), "packs"),
    "garbage": Failure(_body(b"\x00\xff\xfe garbage"), "no JSON"),
    "HTML": Failure(_body(b"<html>hello</html>", Content_Type="text/html"), "no JSON"),
    "JSON of another kind": Failure(_body(b"[1, 2]"), "without choices"),
    "no choices": Failure(_body(b'{"choices": []}'), "without choices"),
    "choices of another kind": Failure(_body(b'{"choices": {"a": 1}}'), "without choices"),
    "a choice of another kind": Failure(_body(b'{"choices": [7]}'), "without choices"),
    "no text": Failure(saying(None), "without text"),
    "an empty text": Failure(saying("  "), "without text"),
    "prose": Failure(saying("Sure! Here are the slots: nodes=4"), "no JSON"),
    "cut short": Failure(saying('{"slots": []}', "length"), "cut short"),
    "refuses": Failure(saying(None, refusal="I cannot help with that"), "refuses"),
    "another shape": Failure(saying('{"nodes": 4}'), "not asked for"),
    "a slot that is none": Failure(saying('{"slots": [{"slot": "root", "value": "x", "quote": "x"}]}'), "not asked"),
    "a number beyond bounds": Failure(
        saying('{"slots": [{"slot": "nodes", "value": 123456789, "quote": "four nodes"}]}'), "not asked for"
    ),
    "no number": Failure(saying('{"slots": NaN}'), "NaN"),
    "an endless number": Failure(saying('{"slots": 1e999}'), "1e999"),
    "a number of 10,000 digits": Failure(saying('{"slots": ' + "9" * 10_000 + "}"), "limit"),
    "a name twice": Failure(saying('{"slots": [], "slots": []}'), "twice"),
    "brackets too deep": Failure(saying("[" * 200_000), "deep"),
    "an answer too deep": Failure(_body(b"[" * 200_000), "deep"),
    "another address": Failure(lambda one: one.give(307, b"", Location="http://127.0.0.1:9/"), "another address"),
    "key refused": Failure(_status(401), "MAPLE_MODEL_KEY"),
    "key shown": Failure(_tells_the_key, "MAPLE_MODEL_KEY"),
    "not there": Failure(_status(404), "/v1"),
    "too many": Failure(_status(429), "later"),
    "fails": Failure(_status(500, b"Internal Server Error"), "500"),
    "an error of many lines": Failure(_status(500, b'{"error": {"message": "a\\nb\\n\\u001b[31mc"}}'), "500"),
    "refuses every form": Failure(_status(400), "says 400"),
    "a lone surrogate": Failure(
        lambda one: one.give(200, completion("x").replace(b'"x"', b'"\\ud800"')), "no JSON"
    ),
}  # fmt: skip
