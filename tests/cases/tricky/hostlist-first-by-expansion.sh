#!/bin/bash
# Tricky: the first host by ${list%%…}: unknown text, but one value for all.
#SBATCH --nodes=2 --ntasks-per-node=1 --gpus-per-node=2
list=$(scontrol show hostnames "$SLURM_JOB_NODELIST")
HEAD=${list%%$'\n'*}
srun torchrun --nnodes=2 --nproc_per_node=2 --rdzv_id=1 --rdzv_backend=c10d --rdzv_endpoint=$HEAD:29500 train.py
