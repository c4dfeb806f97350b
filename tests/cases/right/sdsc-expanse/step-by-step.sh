#!/bin/bash
#SBATCH -A abc123
#SBATCH -p gpu
#SBATCH -N 2
#SBATCH --ntasks-per-node=1
#SBATCH --gpus=8
#SBATCH --mem=100G
#SBATCH -t 10:00:00

# 1. data on one core, 2. training on all GPUs, 3. a short evaluation on one
srun -N1 -n1 --gpus=1 python tokenize_data.py
HEAD=$(scontrol show hostnames $SLURM_JOB_NODELIST | head -n 1)
srun -N2 -n2 torchrun --nnodes 2 --nproc_per_node 4 --rdzv_id 1 --rdzv_backend c10d --rdzv_endpoint $HEAD:29500 train.py
srun -N1 -n1 --gpus=1 python evaluate.py
