#!/bin/bash
# Tricky: python without a launcher in front of the training is preprocessing on one core.
#SBATCH --nodes=2 --ntasks-per-node=1 --gpus-per-node=4
python prepare_data.py --shards 16
HEAD=$(scontrol show hostnames $SLURM_JOB_NODELIST | head -n 1)
srun torchrun --nnodes=2 --nproc_per_node=4 --rdzv_id=1 --rdzv_backend=c10d --rdzv_endpoint=$HEAD:29500 train.py
