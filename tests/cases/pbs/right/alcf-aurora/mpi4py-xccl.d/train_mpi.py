"""Rank and size come from MPI, the tile from PALS_LOCAL_RANKID."""

import os

import torch
from mpi4py import MPI

rank, size = MPI.COMM_WORLD.Get_rank(), MPI.COMM_WORLD.Get_size()
torch.distributed.init_process_group("xccl", rank=rank, world_size=size)
torch.xpu.set_device(int(os.environ["PALS_LOCAL_RANKID"]))
