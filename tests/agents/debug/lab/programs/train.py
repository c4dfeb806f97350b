"""Trains a small model by data parallel over gloo: two epochs of three steps."""

import argparse
from datetime import timedelta

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel


def main() -> None:
    words = argparse.ArgumentParser()
    words.add_argument("--epochs", type=int, default=2)
    words.add_argument("--backend", default="gloo")
    words.add_argument("--timeout", type=int, default=30, help="seconds to wait for the other ranks")
    asked = words.parse_args()
    dist.init_process_group(asked.backend, timeout=timedelta(seconds=asked.timeout))
    rank, world = dist.get_rank(), dist.get_world_size()
    net = DistributedDataParallel(torch.nn.Linear(8, 2))
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    for epoch in range(asked.epochs):
        for _ in range(3):
            loss = net(torch.randn(4, 8)).square().mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        if rank == 0:
            print(f"epoch {epoch + 1}/{asked.epochs} loss {loss.item():.4f}", flush=True)
    dist.barrier()
    print(f"rank {rank} of {world} trained", flush=True)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
