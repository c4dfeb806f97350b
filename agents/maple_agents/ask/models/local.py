"""A model of transformers in this process, from a folder of weights; llguidance keeps its answer to the schema.

Nothing is fetched and no code of the folder is run: weights are read from safetensors alone. The words of a request
cannot become control tokens: only the model's own chat template writes those.
"""

from __future__ import annotations

import contextlib
import importlib
import json
import os
import secrets
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from .protocol import Limit, Message, ModelError, Schema, mismatch, read

_QUIET = {
    "HF_HUB_OFFLINE": "1",
    "TRANSFORMERS_OFFLINE": "1",
    "HF_HUB_DISABLE_TELEMETRY": "1",
    "TORCHDYNAMO_DISABLE": "1",  # llguidance masks through torch.compile, whose first call compiles for seconds
    "TRANSFORMERS_VERBOSITY": "error",
    "TOKENIZERS_PARALLELISM": "false",
}


class LocalModel:
    """The model in a folder, loaded at the first question and kept; one question at a time."""

    def __init__(self, folder: str) -> None:
        """Raises `ModelError` where *folder* holds no model of transformers; nothing is loaded yet."""
        self._folder = os.path.abspath(os.path.expanduser(folder))
        if not os.path.isfile(os.path.join(self._folder, "config.json")):
            raise ModelError(folder, "is no folder with a config.json", "name a folder that save_pretrained wrote")
        self._lock = threading.Lock()
        self._decoder: Decoder | None = None
        self._tokenizer: Any = None

    @property
    def name(self) -> str:
        """The folder."""
        return self._folder

    def load(self) -> None:
        """Load the weights, if they are not. Raises `ModelError`: libraries missing, files not usable."""
        with self._lock:
            self._load()

    def answer(self, messages: Sequence[Message], schema: Schema, limit: Limit = Limit()) -> object:  # noqa: B008
        """See `Model.answer`; the seconds count from when the weights are loaded. Always the likeliest token."""
        with self._lock:
            decoder = self._load()
            deadline = time.monotonic() + limit.seconds
            try:
                text = decoder.answer(self._prompt(messages), json.dumps(schema), limit.tokens, deadline)
                value = read(text)
            except Exception as error:  # a chat template is a program, and libraries have versions
                raise ModelError(self.name, str(error) or type(error).__name__) from None
        wrong = mismatch(value, schema)
        if wrong:
            raise ModelError(self.name, f"answered what was not asked for: {wrong}")
        return value

    def _load(self) -> Decoder:
        if self._decoder is None:
            try:
                with _environment(_QUIET):
                    self._decoder, self._tokenizer = _loaded(self._folder)
            except ImportError as error:
                missing = error.name or "a library"
                raise ModelError(
                    self.name,
                    f"this Python has no {missing}",
                    "install torch, transformers and llguidance beside Maple",
                ) from None
            except Exception as error:  # files of any kind, read by libraries of any version
                raise ModelError(
                    self.name, f"cannot be loaded: {error}", "was it written by save_pretrained?"
                ) from None
        return self._decoder

    def _prompt(self, messages: Sequence[Message]) -> list[int]:
        """Return the tokens of *messages* in the model's own chat template; without one, a paragraph each."""
        marks = [f"text{secrets.token_hex(8)}text" for _ in messages]
        tokens: list[int] = []
        frame = self._frame(
            [{"role": message.role, "content": mark} for message, mark in zip(messages, marks, strict=True)]
        )
        for mark, message in zip(marks, messages, strict=True):
            before, marked, frame = frame.partition(mark)
            if not marked:
                raise ValueError(f"its chat template takes no message of role {message.role}")
            tokens += self._tokens(before, control=True) + self._tokens(message.text, control=False)
        return tokens + self._tokens(frame, control=True)

    def _frame(self, turns: list[dict[str, str]]) -> str:
        if not getattr(self._tokenizer, "chat_template", None):
            return "\n\n".join(turn["content"] for turn in turns) + "\n\n"
        return str(self._tokenizer.apply_chat_template(turns, tokenize=False, add_generation_prompt=True))

    def _tokens(self, text: str, *, control: bool) -> list[int]:
        """Return the tokens of *text*; without *control*, what looks like a control token is read as letters."""
        if not text:
            return []
        text = text.encode("utf-8", "replace").decode()  # half of a surrogate pair is no text to a tokenizer
        numbers = self._tokenizer(text, add_special_tokens=False, split_special_tokens=not control)["input_ids"]
        return [int(number) for number in numbers]


def _loaded(folder: str) -> tuple[Decoder, Any]:
    transformers: Any = importlib.import_module("transformers")
    torch: Any = importlib.import_module("torch")
    transformers.utils.logging.disable_progress_bar()
    known: Mapping[str, Any] = {"local_files_only": True, "trust_remote_code": False}
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder, **known)
    model = transformers.AutoModelForCausalLM.from_pretrained(folder, use_safetensors=True, **known)
    if torch.cuda.is_available():
        model = model.to("cuda")
    return Decoder(model.eval(), tokenizer), tokenizer


@contextlib.contextmanager
def _environment(more: Mapping[str, str]) -> Iterator[None]:
    """Set variables while libraries are imported, and not for the jobs that are submitted later."""
    before = {name: os.environ.get(name) for name in more}
    os.environ.update(more)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value


# One answer, token by token: the likeliest of those tokens that can still become JSON of the schema.

_BLOCK = 256  # tokens of the prompt read at once: between blocks the clock is looked at


class Decoder:
    """A loaded model of transformers and its tokenizer, as llguidance sees it (about a second, once)."""

    def __init__(self, model: Any, tokenizer: Any) -> None:
        self._model = model
        self._width = int(model.get_output_embeddings().weight.shape[0])
        ends = model.generation_config.eos_token_id
        self._ends = [] if ends is None else [ends] if isinstance(ends, int) else list(ends)
        self._ends = self._ends or [tokenizer.eos_token_id]
        self._longest = getattr(model.config, "max_position_embeddings", None)
        hf: Any = importlib.import_module("llguidance.hf")
        self._tokenizer = hf.from_tokenizer(tokenizer, n_vocab=self._width, eos_token=self._ends)

    def answer(self, prompt: list[int], schema: str, tokens: int, deadline: float) -> str:
        """Return the JSON text that follows *prompt*.

        Raises `ValueError` in one line: the prompt is too long, the schema has words that llguidance does not know, the
        answer has more than *tokens* tokens, or is not done at *deadline*, a time of `time.monotonic`.
        """
        torch: Any = importlib.import_module("torch")
        if self._longest is not None and len(prompt) + tokens > self._longest:
            raise ValueError(f"{len(prompt)} tokens and an answer of {tokens} are more than its {self._longest}")
        matcher = self._matcher(schema)
        spoken: list[int] = []
        with torch.inference_mode():
            state = _Reader(self._model, deadline)
            logits = state.read(prompt)
            while not matcher.is_stopped():
                following = matcher.compute_ff_tokens() or [self._likeliest(logits, matcher)]
                if not matcher.consume_tokens(following):
                    raise ValueError(f"no answer that conforms: {matcher.get_error()}")
                spoken += [token for token in following if token not in self._ends]
                if len(spoken) > tokens:
                    raise ValueError(f"its answer was cut short after {tokens} tokens")
                if not matcher.is_stopped():
                    logits = state.read(following)
        if matcher.is_error():
            raise ValueError(f"no answer that conforms: {matcher.get_error()}")
        return str(self._tokenizer.decode_str(spoken))

    def _matcher(self, schema: str) -> Any:
        llguidance: Any = importlib.import_module("llguidance")
        grammar = llguidance.LLMatcher.grammar_from_json_schema(schema, overrides={"whitespace_flexible": False})
        matcher = llguidance.LLMatcher(self._tokenizer, grammar, log_level=0)
        if matcher.is_error():
            raise ValueError(f"the schema cannot be kept to: {matcher.get_error()}")
        return matcher

    def _likeliest(self, logits: Any, matcher: Any) -> int:
        """Return the likeliest token that the matcher allows."""
        numpy: Any = importlib.import_module("numpy")
        torch: Any = importlib.import_module("torch")
        bits = numpy.frombuffer(matcher.compute_bitmask(), dtype=numpy.uint8)
        allowed = torch.from_numpy(numpy.unpackbits(bits, bitorder="little")[: self._width].astype(bool))
        if not bool(allowed.any()):
            raise ValueError(f"no answer that conforms: {matcher.get_error() or 'no token is left'}")
        return int(logits.masked_fill(~allowed.to(logits.device), float("-inf")).argmax())


class _Reader:
    """The model with what it has read so far."""

    def __init__(self, model: Any, deadline: float) -> None:
        self._model, self._deadline, self._past = model, deadline, None

    def read(self, tokens: list[int]) -> Any:
        """Read on; return what the model thinks of the next token. Raises `ValueError` when it is late."""
        torch: Any = importlib.import_module("torch")
        logits = None
        for start in range(0, len(tokens), _BLOCK):
            if time.monotonic() > self._deadline:
                raise ValueError("no answer in time; a smaller model, or a longer limit: `seconds` in model.toml")
            block = torch.tensor([tokens[start : start + _BLOCK]], device=self._model.device)
            out = self._model(block, past_key_values=self._past, use_cache=True)
            self._past, logits = out.past_key_values, out.logits[0, -1]
        if logits is None:
            raise ValueError("an empty prompt")
        return logits
