#!/bin/bash
#SBATCH -J ddp4x4
#SBATCH -p h100
#SBATCH -N 4
#SBATCH --ntasks-per-node=1
#SBATCH -t 05:00:00

export MASTER=$(scontrol show hostnames "$SLURM_JOB_NODELIST" | head -n 1)
export PORT=12345

launch() {
    ibrun bash -c 'torchrun --nproc_per_node=4 --nnodes=$SLURM_NNODES --node_rank=$PMI_RANK --master_addr=$MASTER --master_port=$PORT train.py'
}

date
launch
date
