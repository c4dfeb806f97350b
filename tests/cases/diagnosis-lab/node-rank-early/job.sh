#!/bin/bash
#SBATCH --nodes=2 --ntasks-per-node=1 --gpus-per-node=2
#SBATCH --time=00:10:00
#SBATCH --output=slurm-%j.out
nodes=( $(scontrol show hostnames $SLURM_JOB_NODELIST) )
head=${nodes[0]}
srun torchrun --nnodes=2 --nproc_per_node=2 --node_rank=$SLURM_NODEID --master_addr=$head --master_port=29500 train.py --epochs 2
