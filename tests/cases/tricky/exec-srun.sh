#!/bin/bash
# Tricky: exec in front of srun, and everything behind it is never reached.
#SBATCH --nodes=2 --ntasks-per-node=1 --gpus-per-node=4
HEAD=$(scontrol show hostnames $SLURM_JOB_NODELIST | head -n 1)
exec srun torchrun --nnodes=2 --nproc_per_node=4 --rdzv_id=1 --rdzv_backend=c10d --rdzv_endpoint=$HEAD:29500 train.py
torchrun --nnodes=8 --nproc_per_node=8 never.py
