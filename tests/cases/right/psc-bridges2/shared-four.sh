#!/bin/bash
#SBATCH -N 1
#SBATCH -p GPU-shared
#SBATCH -t 2:00:00
#SBATCH --gpus=v100-32:4

module load AI/pytorch_23.02-1.13.1-py3 2>/dev/null || :
python -m torch.distributed.run --nproc_per_node=4 --master_port=$((29000 + SLURM_JOB_ID % 500)) train.py
