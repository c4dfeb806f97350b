#!/bin/bash
# Wrong: --node_rank=0 on every node.
#SBATCH --nodes=2 --ntasks-per-node=1 --gpus-per-node=2
export MASTER_ADDR=$(scontrol show hostnames "$SLURM_JOB_NODELIST" | head -n 1)
srun torchrun --nnodes=2 --nproc_per_node=2 --node_rank=0 --master_addr=$MASTER_ADDR --master_port=29500 train.py
