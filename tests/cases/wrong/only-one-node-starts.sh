#!/bin/bash
# Wrong: no srun: only the first node starts its agent.
#SBATCH --nodes=2 --ntasks-per-node=1 --gpus-per-node=2
HEAD=$(scontrol show hostnames "$SLURM_JOB_NODELIST" | head -n 1)
torchrun --nnodes=2 --nproc_per_node=2 --rdzv_id=1 --rdzv_backend=c10d --rdzv_endpoint=$HEAD:29500 train.py
