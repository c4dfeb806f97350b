#!/bin/bash
#SBATCH --nodes=2 --ntasks-per-node=1 --cpus-per-task=8 --gpus-per-node=4
HEAD=$(scontrol show hostnames "$SLURM_JOB_NODELIST" | head -n 1)
srun torchrun train.py --nnodes=2 --nproc_per_node 4 --rdzv-backend=c10d --rdzv-endpoint=$HEAD:29500
