#!/bin/bash
# Wrong: two tasks a node with the same node rank.
#SBATCH --nodes=2 --ntasks-per-node=2 --gpus-per-node=2
export MASTER_ADDR=$(scontrol show hostnames "$SLURM_JOB_NODELIST" | head -n 1) MASTER_PORT=29500
srun bash -c 'torchrun --nnodes=2 --nproc_per_node=2 --master_addr=$MASTER_ADDR --master_port=$MASTER_PORT --node_rank=$SLURM_NODEID train.py'
