"""A model behind an OpenAI-compatible server (vLLM, SGLang, llama.cpp, a hosted one): one bounded question at a time.

Nothing leaves this process unmasked, the key goes to the server that was named and to no other, and whatever comes
back is data: it is read within bounds and held against the schema, also where the server promised to.
"""

from __future__ import annotations

import json
import time
from collections.abc import Mapping, Sequence
from http import HTTPStatus
from typing import Any, NamedTuple

from ...base.secrets.masking import MASK, masked
from .conformance import mismatch, read
from .exchange import Answered, address, post
from .protocol import Limit, Message, ModelError, Schema

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
        shown = [{"role": one.role, "content": _text(masked(one.text))} for one in messages]
        bound = {"max_completion_tokens": limit.tokens} if self.new else {"max_tokens": limit.tokens, "temperature": 0}
        said: dict[str, Any] = {"messages": shown, **bound}
        if self.schema == "json_schema":
            named = {"name": "answer", "strict": True, "schema": schema}
            return said | {"response_format": {"type": "json_schema", "json_schema": named}}
        if self.schema == "guided_json":
            return said | {"guided_json": schema}
        told = f"Answer with one JSON value of this JSON schema and nothing else: {json.dumps(schema)}"
        said["messages"] = [{"role": "system", "content": told}, *shown]
        return said | ({"response_format": {"type": "json_object"}} if self.schema == "json_object" else {})


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
        told = answered.body[:4096].decode("utf-8", "replace")
        try:
            found = json.loads(answered.body)
            error = found.get("error", found) if isinstance(found, dict) else {}
            told = str(error.get("message", told) if isinstance(error, dict) else error)
        except (ValueError, RecursionError):
            pass
        return self._clean(f"the server says {answered.status}: {told.strip() or 'no reason given'}")

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
    found = read(body.decode("utf-8", "replace"))
    choices = found.get("choices") if isinstance(found, dict) else None
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
