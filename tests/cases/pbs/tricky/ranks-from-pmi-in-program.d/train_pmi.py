"""PMI_RANK, PMI_SIZE and PMI_LOCAL_RANK are what mpiexec of PALS sets."""

import os

import torch.distributed as dist

dist.init_process_group("nccl", rank=int(os.environ["PMI_RANK"]), world_size=int(os.environ["PMI_SIZE"]))
