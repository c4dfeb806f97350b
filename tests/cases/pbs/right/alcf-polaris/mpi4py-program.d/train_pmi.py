"""Reads PMI_RANK, PMI_SIZE and PMI_LOCAL_RANK, which mpiexec sets for each rank."""

import os

import torch

rank, size = int(os.environ["PMI_RANK"]), int(os.environ["PMI_SIZE"])
torch.distributed.init_process_group("nccl", rank=rank, world_size=size)
torch.cuda.set_device(int(os.environ["PMI_LOCAL_RANK"]))
