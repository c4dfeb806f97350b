# mypy: disable-error-code="import-not-found", allow-subclassing-any
"""The parts of `three_d`: hidden layers in slices, blocks in stages, gradients averaged over what sees other data."""

from __future__ import annotations

from typing import Any, NamedTuple

import torch
import torch.distributed as dist
from torch import nn
from torch.nn import functional

from maple_miniapps import model, training
from maple_miniapps.phases import CheckFailed
from maple_miniapps.process_group import World


class Place(NamedTuple):
    """The groups of ranks along each dimension in which this rank stands."""

    data: Any
    pipeline: Any
    tensor: Any


def check(place: Place, world: World) -> None:
    """Let every dimension sum the ranks in it and compare. Raises `CheckFailed`."""
    for name, group in place._asdict().items():
        total = torch.tensor([float(world.rank)], device=world.device)
        dist.all_reduce(total, group=group)
        expected = sum(dist.get_process_group_ranks(group))
        if int(total) != expected:
            raise CheckFailed("the sum over the %s dimension is %d, not %d" % (name, int(total), expected))


class _Enter(torch.autograd.Function):
    """All slices get the same input, so its gradient is the sum of theirs."""

    @staticmethod
    def forward(context: Any, x: Any, group: Any) -> Any:
        context.group = group
        return x.clone()

    @staticmethod
    def backward(context: Any, gradient: Any) -> Any:
        gradient = gradient.clone()
        dist.all_reduce(gradient, group=context.group)
        return gradient, None


class _Leave(torch.autograd.Function):
    """The output is the sum of what the slices give; each gets its whole gradient."""

    @staticmethod
    def forward(context: Any, x: Any, group: Any) -> Any:
        x = x.clone()
        dist.all_reduce(x, group=group)
        return x

    @staticmethod
    def backward(context: Any, gradient: Any) -> Any:
        return gradient, None


class Slice(nn.Module):
    """This rank's part of the hidden layers of a block: some columns going up, the same rows coming down."""

    def __init__(self, whole: Any, group: Any) -> None:
        super().__init__()
        rank, size = dist.get_rank(group), dist.get_world_size(group)
        self.group = group
        self.up_weight = nn.Parameter(whole.up.weight.detach().chunk(size, 0)[rank].clone())
        self.up_bias = nn.Parameter(whole.up.bias.detach().chunk(size, 0)[rank].clone())
        self.down_weight = nn.Parameter(whole.down.weight.detach().chunk(size, 1)[rank].clone())
        self.down_bias = nn.Parameter(whole.down.bias.detach().clone())

    def forward(self, x: Any) -> Any:
        x = functional.gelu(functional.linear(_Enter.apply(x, self.group), self.up_weight, self.up_bias))
        return _Leave.apply(functional.linear(x, self.down_weight), self.group) + self.down_bias


class Stage:
    """This rank's part of the pipeline, which passes vectors on and gradients back."""

    def __init__(self, whole: Any, place: Place, device: Any) -> None:
        self._place, self._device = place, device
        rank, size = dist.get_rank(place.pipeline), dist.get_world_size(place.pipeline)
        ranks = dist.get_process_group_ranks(place.pipeline)
        self._before = ranks[rank - 1] if rank > 0 else None
        self._next = ranks[rank + 1] if rank + 1 < size else None
        self._last = ranks[-1]
        for block in whole.blocks:
            block.hidden = Slice(block.hidden, place.tensor)
        mine = len(whole.blocks) // size
        self._blocks = whole.blocks[rank * mine : (rank + 1) * mine]
        self._begin, self._finish = whole.begin, whole.finish
        ends = [self._begin] * (self._before is None) + [self._finish] * (self._next is None)
        self._parts = nn.ModuleList([*self._blocks, *ends])
        self._descent = training.Descent(self._parts)

    def step(self, words: Any) -> None:
        """Train once: forward from the first stage to the last, backward the other way, then average over the data."""
        self._descent.zero_grad()
        came, went = self._forward(words)
        if self._next is None:
            went.backward()
        else:
            went.backward(self._receive(went, self._next))
        if self._before is not None:
            dist.send(came.grad, self._before)
        size = dist.get_world_size(self._place.data)
        for weight in self._parts.parameters():
            dist.all_reduce(weight.grad, group=self._place.data)
            weight.grad /= size
        self._descent.step()

    def loss(self, words: Any) -> Any:
        """Return the loss, which the last stage tells the others."""
        _, went = self._forward(words)
        mean = went.detach() if self._next is None else torch.zeros((), device=self._device)
        dist.broadcast(mean, self._last, group=self._place.pipeline)
        return mean

    def _forward(self, words: Any) -> Any:
        """Return what came in and what went out: vectors, or the loss on the last stage."""
        shape = torch.empty(*words.shape, model.WIDTH, device=self._device)
        came = None if self._before is None else self._receive(shape, self._before).requires_grad_()
        x = self._begin(words) if came is None else came
        for block in self._blocks:
            x = block(x)
        if self._next is None:
            return came, self._finish(x, words)
        dist.send(x.detach().contiguous(), self._next)
        return came, x

    def _receive(self, like: Any, source: int) -> Any:
        buffer = torch.empty_like(like, requires_grad=False)
        dist.recv(buffer, source)
        return buffer
