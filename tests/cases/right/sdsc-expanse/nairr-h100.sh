#!/bin/bash
#SBATCH -A nairr240001
#SBATCH -p nairr-gpu
#SBATCH -N 2
#SBATCH --ntasks-per-node=1
#SBATCH --gpus=h100:8
#SBATCH --mem=500G
#SBATCH -t 02:00:00

if [ "$SLURM_NNODES" -gt 1 ]; then
    RDZV="--rdzv_backend=c10d --rdzv_id=$SLURM_JOB_ID --rdzv_endpoint=$(scontrol show hostnames $SLURM_JOB_NODELIST | head -n 1):29500"
else
    RDZV="--standalone"
fi
srun torchrun --nnodes=$SLURM_NNODES --nproc_per_node=4 $RDZV train.py
