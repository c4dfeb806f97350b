"""A model behind an OpenAI-compatible server (vLLM, SGLang, llama.cpp, a hosted one): one bounded question at a time.

Nothing leaves this process unmasked, the key goes to the server that was named and to no other, and whatever comes
back is data: it is read within bounds and held against the schema, also where the server promised to.

One question to a server over HTTP: a deadline for all of it, a bound on what is read, no redirect, no other host.
"""

from __future__ import annotations

import contextlib
import http.client
import ipaddress
import json
import socket
import ssl
import threading
import time
import urllib.parse
import urllib.request
from collections.abc import Mapping, Sequence
from http import HTTPStatus
from typing import Any, NamedTuple

from ...base.secrets.masking import MASK, masked
from .protocol import Limit, Message, ModelError, Schema, mismatch, read

MOST = 1 << 20  # bytes of an answer; a few thousand tokens are far less
_END = "/chat/completions"

_FORMS = ("json_schema", "guided_json", "json_object", "plain")
_REFUSES_FORM = (HTTPStatus.BAD_REQUEST, HTTPStatus.UNPROCESSABLE_ENTITY, HTTPStatus.NOT_IMPLEMENTED)
_KEY = "is the key right? MAPLE_MODEL_KEY, or a file that MAPLE_MODEL_KEY_FILE names"
_REMEDIES: Mapping[int, str] = {
    HTTPStatus.UNAUTHORIZED: _KEY,
    HTTPStatus.FORBIDDEN: _KEY,
    HTTPStatus.NOT_FOUND: "is the address right, with its /v1, and the model's name behind #?",
    HTTPStatus.TOO_MANY_REQUESTS: "try again later",
    HTTPStatus.SERVICE_UNAVAILABLE: "try again later",
}


class Form(NamedTuple):
    """How the schema is said, one of `_FORMS`; *new*: with the only words for bounds that newer hosted models know."""

    schema: str
    new: bool = False

    def plainer(self, reason: str) -> Form | None:
        """Return what to try after a server refused this form for *reason*, None when nothing is left."""
        if not self.new and ("max_completion_tokens" in reason or "temperature" in reason):
            return self._replace(new=True)
        left = _FORMS[_FORMS.index(self.schema) + 1 :]
        return self._replace(schema=left[0]) if left else None

    def words(self, messages: Sequence[Message], schema: Schema, limit: Limit) -> dict[str, Any]:
        """Return the members of the request that depend on the form; every text in *messages* is masked."""
        shown = [{"role": message.role, "content": _text(masked(message.text))} for message in messages]
        bound = {"max_completion_tokens": limit.tokens} if self.new else {"max_tokens": limit.tokens, "temperature": 0}
        request: dict[str, Any] = {"messages": shown, **bound}
        if self.schema == "json_schema":
            named = {"name": "answer", "strict": True, "schema": schema}
            return request | {"response_format": {"type": "json_schema", "json_schema": named}}
        if self.schema == "guided_json":
            return request | {"guided_json": schema}
        instruction = f"Answer with one JSON value of this JSON schema and nothing else: {json.dumps(schema)}"
        request["messages"] = [{"role": "system", "content": instruction}, *shown]
        return request | ({"response_format": {"type": "json_object"}} if self.schema == "json_object" else {})


class HttpModel:
    """A model that a server serves under *served*. The form that the server took is kept for the next question."""

    def __init__(self, url: str, served: str, key: str = "", *, plain_http: bool = False) -> None:
        """*plain_http* allows http to other hosts than this one. Raises `ModelError` where *url* cannot be used."""
        self._address = address(url, plain_http)
        self._served, self._key = served, key
        self._form = Form(_FORMS[0])

    @property
    def name(self) -> str:
        """The server and the name that it serves; never the key."""
        return f"{self._address.shown}#{self._served}"

    def answer(self, messages: Sequence[Message], schema: Schema, limit: Limit = Limit()) -> object:  # noqa: B008
        """See `Model.answer`. The texts are masked; all forms that have to be tried share the limit's seconds."""
        deadline = time.monotonic() + limit.seconds
        form: Form | None = self._form
        refusal: Answered | None = None
        while form is not None:
            body = {"model": self._served, "stream": False, **form.words(messages, schema, limit)}
            answered = self._post(json.dumps(body).encode(), deadline)
            if answered.status not in _REFUSES_FORM:
                self._form = form
                return self._value(answered, schema)
            refusal = refusal or answered
            form = form.plainer(self._reason(answered))
        assert refusal is not None
        raise self._error(self._reason(refusal))

    def _post(self, body: bytes, deadline: float) -> Answered:
        try:
            return post(self._address, self._key, body, deadline)
        except ModelError as error:
            raise self._error(self._clean(error.wrong), error.remedy) from None

    def _value(self, answered: Answered, schema: Schema) -> object:
        if answered.status != HTTPStatus.OK:
            raise self._error(self._reason(answered), _REMEDIES.get(answered.status, ""))
        try:
            value = read(_content(answered.body))
        except ValueError as error:
            raise self._error(self._clean(str(error)), "is it OpenAI-compatible?") from None
        wrong = mismatch(value, schema)
        if wrong:
            raise self._error(f"answered what was not asked for: {self._clean(wrong)}")
        return value

    def _reason(self, answered: Answered) -> str:
        """Return the status, and what the server says of it: its words are data, and may repeat ours."""
        reason = answered.body[:4096].decode("utf-8", "replace")
        try:
            answer = json.loads(answered.body)
            error = answer.get("error", answer) if isinstance(answer, dict) else {}
            reason = str(error.get("message", reason) if isinstance(error, dict) else error)
        except (ValueError, RecursionError):
            pass
        return self._clean(f"the server says {answered.status}: {reason.strip() or 'no reason given'}")

    def _clean(self, text: str) -> str:
        return masked(text.replace(self._key, MASK) if self._key else text)

    def _error(self, wrong: str, remedy: str = "") -> ModelError:
        return ModelError(self.name, wrong, remedy)


def _text(text: str) -> str:
    """Return *text* as every server can read it: half of a surrogate pair is no text."""
    return text.encode("utf-8", "replace").decode()


def _content(body: bytes) -> str:
    """Return the text of the one answer. Raises `ValueError` where there is none, or it was cut short."""
    if not body.strip():
        raise ValueError("an empty answer")
    answer = read(body.decode("utf-8", "replace"))
    choices = answer.get("choices") if isinstance(answer, dict) else None
    first = choices[0] if isinstance(choices, list) and choices else None
    message = first.get("message") if isinstance(first, dict) else None
    if not isinstance(first, dict) or not isinstance(message, dict):
        raise ValueError("an answer without choices")
    if first.get("finish_reason") == "length":
        raise ValueError("its answer was cut short")
    text = message.get("content")
    if message.get("refusal"):
        raise ValueError(f"it refuses: {message['refusal']}")
    if not isinstance(text, str) or not text.strip():
        raise ValueError("an answer without text")
    return text


class Address(NamedTuple):
    """Where a server listens. *shown* is the URL as people write it; *only_here*: on this host or not at all."""

    secure: bool
    host: str
    port: int
    path: str
    shown: str
    only_here: bool


class Answered(NamedTuple):
    """What came back: the status, the kind of the body, and the body."""

    status: int
    kind: str
    body: bytes


def address(url: str, plain_http: bool = False) -> Address:
    """Read the URL of an OpenAI-compatible server: its base (`https://host/v1`), or that of its chat completions.

    Raises `ModelError`: no URL of that kind, a key in it, or http to another host where *plain_http* is not set.
    """
    shown = url.rpartition("@")[2] if "@" in url else url  # never a name and password
    try:
        parts = urllib.parse.urlsplit(url)
        host, port = parts.hostname or "", parts.port
    except ValueError:
        raise ModelError(shown, "is no URL") from None
    if parts.scheme not in ("https", "http") or not host or not url.isascii() or not url.isprintable() or " " in url:
        raise ModelError(shown, "is no URL of a server", "write https://host/v1#model")
    if "@" in parts.netloc or parts.query or parts.fragment:
        raise ModelError(shown, "its URL holds more than host and path", "give the key by MAPLE_MODEL_KEY")
    if parts.scheme == "http" and not plain_http and not is_here(host):
        raise ModelError(shown, "plain http to another host would show everybody the request", "use https")
    path = parts.path.rstrip("/") or "/v1"
    secure = parts.scheme == "https"
    only_here = not secure and not plain_http
    wanted = path if path.endswith(_END) else path + _END
    return Address(secure, host, port or (443 if secure else 80), wanted, shown, only_here)


def is_here(host: str) -> bool:
    """Return whether a host's name or number means this host."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host.partition("%")[0]).is_loopback
    except ValueError:
        return False


def post(to: Address, key: str, body: bytes, deadline: float) -> Answered:
    """Send *body* and return what came back, whatever its status.

    *deadline* is a time of `time.monotonic`; it holds for names, handshake and a server that sends drop by drop.
    Raises `ModelError` when nothing whole comes until then, or more than `MOST` bytes.
    """
    talk = _Talk(to, key, body, deadline)
    talk.start()
    talk.join(max(0.0, deadline - time.monotonic()))
    late = talk.is_alive()
    talk.end()
    if talk.answered is not None and not late:
        return talk.answered
    if talk.error is not None and not late:
        raise talk.error
    raise ModelError(to.shown, "no answer in time", "is the server busy? A longer limit: `seconds` in model.toml")


class _Talk(threading.Thread):
    """The exchange, in a thread of its own: no call of the library below has a deadline for all that it does."""

    def __init__(self, to: Address, key: str, body: bytes, deadline: float) -> None:
        super().__init__(daemon=True, name="maple-model")
        self._to, self._key, self._body, self._deadline = to, key, body, deadline
        self._connection: http.client.HTTPConnection | None = None
        self.answered: Answered | None = None
        self.error: ModelError | None = None

    def run(self) -> None:
        try:
            self._connection = self._made()
            self.answered = self._exchange(self._connection)
        except ModelError as error:
            self.error = error
        except ssl.SSLCertVerificationError as error:
            self.error = ModelError(self._to.shown, f"its certificate is not trusted: {error.verify_message}")
        except (OSError, http.client.HTTPException, ValueError) as error:
            why = getattr(error, "strerror", None) or str(error) or type(error).__name__
            self.error = ModelError(self._to.shown, f"cannot be reached, or broke off: {why}", "is the server up?")
        finally:
            self.end()

    def end(self) -> None:
        """Close the connection; who waits in it wakes up."""
        opened = self._connection.sock if self._connection is not None else None
        with contextlib.suppress(OSError):
            if isinstance(opened, socket.socket):
                opened.shutdown(socket.SHUT_RDWR)
        with contextlib.suppress(OSError):
            if self._connection is not None:
                self._connection.close()

    def _made(self) -> http.client.HTTPConnection:
        to, left = self._to, self._deadline - time.monotonic() + 1  # `post` is the one who looks at the clock
        if not to.secure:
            return http.client.HTTPConnection(to.host, to.port, timeout=left)
        context = ssl.create_default_context()
        proxy = _proxy(to.host)
        if proxy is None:
            return http.client.HTTPSConnection(to.host, to.port, timeout=left, context=context)
        through = http.client.HTTPSConnection(*proxy, timeout=left, context=context)
        through.set_tunnel(to.host, to.port)
        return through

    def _exchange(self, connection: http.client.HTTPConnection) -> Answered:
        connection.connect()
        self._check_peer(connection)
        headers = {"Content-Type": "application/json", "Accept": "application/json", "User-Agent": "maple"}
        if self._key:
            headers["Authorization"] = f"Bearer {self._key}"
        connection.request("POST", self._to.path, self._body, headers)
        return self._read(connection.getresponse())

    def _check_peer(self, connection: http.client.HTTPConnection) -> None:
        """A name such as localhost may lead elsewhere."""
        if self._to.only_here and not is_here(connection.sock.getpeername()[0]):
            raise ModelError(self._to.shown, "its name leads to another host, and http shows the request", "use https")

    def _read(self, response: http.client.HTTPResponse) -> Answered:
        if 300 <= response.status < 400:
            raise ModelError(self._to.shown, "sends us to another address, which is not followed", "name that address")
        kind = response.getheader("Content-Type", "").partition(";")[0].strip().lower()
        if kind == "text/event-stream":
            raise ModelError(self._to.shown, "streams its answer though asked not to", "is it OpenAI-compatible?")
        if response.getheader("Content-Encoding", "identity").lower() != "identity":
            raise ModelError(self._to.shown, "packs its answer though asked not to", "is it OpenAI-compatible?")
        body = b"" if (response.length or 0) > MOST else response.read(MOST + 1)
        if len(body) > MOST or (response.length or 0) > MOST:
            raise ModelError(self._to.shown, f"answered more than {MOST} bytes", "is it OpenAI-compatible?")
        if response.length:
            raise ModelError(self._to.shown, "its answer broke off", "try again")
        return Answered(response.status, kind, body)


def _proxy(host: str) -> tuple[str, int] | None:
    """Return the proxy that https_proxy names for *host*; a name and password in it are not used."""
    named = urllib.request.getproxies().get("https", "")
    if not named or urllib.request.proxy_bypass(host):
        return None
    parts = urllib.parse.urlsplit(named if "//" in named else f"//{named}")
    return (parts.hostname, parts.port or 80) if parts.hostname else None
