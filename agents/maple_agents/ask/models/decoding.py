"""One answer, token by token: the likeliest of those tokens that can still become JSON of the schema."""

from __future__ import annotations

import importlib
import time
from typing import Any

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
        said: list[int] = []
        with torch.inference_mode():
            state = _Reader(self._model, deadline)
            logits = state.read(prompt)
            while not matcher.is_stopped():
                following = matcher.compute_ff_tokens() or [self._likeliest(logits, matcher)]
                if not matcher.consume_tokens(following):
                    raise ValueError(f"no answer that conforms: {matcher.get_error()}")
                said += [token for token in following if token not in self._ends]
                if len(said) > tokens:
                    raise ValueError(f"its answer was cut short after {tokens} tokens")
                if not matcher.is_stopped():
                    logits = state.read(following)
        if matcher.is_error():
            raise ValueError(f"no answer that conforms: {matcher.get_error()}")
        return str(self._tokenizer.decode_str(said))

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
