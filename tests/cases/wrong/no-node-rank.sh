#!/bin/bash
# Wrong: a static master and no node rank: both nodes are node 0.
#SBATCH --nodes=2 --ntasks-per-node=1 --gpus-per-node=2
export MASTER_ADDR=$(scontrol show hostnames "$SLURM_JOB_NODELIST" | head -n 1) MASTER_PORT=29500
srun torchrun --nnodes=2 --nproc_per_node=2 --master_addr=$MASTER_ADDR --master_port=$MASTER_PORT train.py
