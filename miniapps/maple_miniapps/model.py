# mypy: disable-error-code="import-not-found", allow-subclassing-any
"""A GPT-2-shaped model of 8,896 parameters: almost no arithmetic, and the parts that strategies take hold of.

After the GPT-2 report (Radford et al., 2019): learned places, layer norm before each part and at the end, causal
attention, GELU, a hidden layer four times as wide. Its output is not tied to its words, which would make every strategy
take care of a tensor that two modules share.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import nn
from torch.nn import functional

WORDS, CONTEXT, WIDTH, HEADS, LAYERS = 64, 16, 16, 2, 2
SEQUENCES = 2  # in the batch of one rank


class Hidden(nn.Module):
    """The two wide layers of a block."""

    def __init__(self) -> None:
        super().__init__()
        self.up = nn.Linear(WIDTH, 4 * WIDTH)
        self.down = nn.Linear(4 * WIDTH, WIDTH)

    def forward(self, x: Any) -> Any:
        return self.down(functional.gelu(self.up(x)))


class Block(nn.Module):
    """Attention to what came before, then the hidden layers; both add to what they were given."""

    def __init__(self) -> None:
        super().__init__()
        self.before_attention, self.before_hidden = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)
        self.attend = nn.Linear(WIDTH, 3 * WIDTH)
        self.join = nn.Linear(WIDTH, WIDTH)
        self.hidden: nn.Module = Hidden()

    def forward(self, x: Any) -> Any:
        n, length, _ = x.shape
        parts = self.attend(self.before_attention(x)).view(n, length, 3, HEADS, WIDTH // HEADS)
        query, key, value = parts.permute(2, 0, 3, 1, 4)
        seen = functional.scaled_dot_product_attention(query, key, value, is_causal=True)
        x = x + self.join(seen.transpose(1, 2).reshape(n, length, WIDTH))
        return x + self.hidden(self.before_hidden(x))


class Begin(nn.Module):
    """Words and their places to vectors."""

    def __init__(self) -> None:
        super().__init__()
        self.word, self.place = nn.Embedding(WORDS, WIDTH), nn.Embedding(CONTEXT, WIDTH)

    def forward(self, words: Any) -> Any:
        return self.word(words) + self.place(torch.arange(words.shape[1], device=words.device))


class Finish(nn.Module):
    """Vectors to the loss of guessing each next word."""

    def __init__(self) -> None:
        super().__init__()
        self.last = nn.LayerNorm(WIDTH)
        self.odds = nn.Linear(WIDTH, WORDS, bias=False)

    def forward(self, x: Any, words: Any) -> Any:
        odds = self.odds(self.last(x))
        return functional.cross_entropy(odds[:, :-1].reshape(-1, WORDS), words[:, 1:].reshape(-1))


class GPT(nn.Module):
    """The whole; forward returns the loss."""

    def __init__(self) -> None:
        super().__init__()
        self.begin = Begin()
        self.blocks = nn.ModuleList(Block() for _ in range(LAYERS))
        self.finish = Finish()

    def forward(self, words: Any) -> Any:
        x = self.begin(words)
        for block in self.blocks:
            x = block(x)
        return self.finish(x, words)


def gpt(device: Any) -> Any:
    """Return the model, the same on every rank and every device."""
    torch.manual_seed(0)
    return GPT().to(device)


def batch(number: int, device: Any) -> Any:
    """Return the batch of that number: words that follow a rule, so that there is something to learn."""
    random = torch.Generator().manual_seed(number)
    first = torch.randint(WORDS, (SEQUENCES, 1), generator=random)
    return ((first + 3 * torch.arange(CONTEXT)) % WORDS).to(device)
