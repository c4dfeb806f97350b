"""Reads its rank where Slurm puts it."""

import os

import torch.distributed as dist

rank, size = int(os.environ["SLURM_PROCID"]), int(os.environ["SLURM_NTASKS"])
dist.init_process_group("nccl", rank=rank, world_size=size)
