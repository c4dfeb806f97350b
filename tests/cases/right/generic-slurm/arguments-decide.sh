#!/bin/bash
#SBATCH --gpus-per-node=4 --ntasks-per-node=1
NPROC=${1:-4}
shift
CONFIG=${1:-base.yaml}
HEAD=$(scontrol show hostnames "$SLURM_JOB_NODELIST" | head -n 1)
srun torchrun --nnodes=$SLURM_NNODES --nproc_per_node=$NPROC --rdzv_id=$SLURM_JOB_ID --rdzv_backend=c10d --rdzv_endpoint=$HEAD:29500 train.py --config $CONFIG
