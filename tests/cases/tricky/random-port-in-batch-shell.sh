#!/bin/bash
# Tricky: $RANDOM is expanded once, by the batch shell, so all nodes agree on port and id.
#SBATCH --nodes=2 --ntasks-per-node=1 --gpus-per-node=4
PORT=$((10000 + RANDOM % 20000))
HEAD=$(scontrol show hostnames $SLURM_JOB_NODELIST | head -n 1)
srun torchrun --nnodes=2 --nproc_per_node=4 --rdzv_id=$RANDOM --rdzv_backend=c10d --rdzv_endpoint=$HEAD:$PORT train.py
