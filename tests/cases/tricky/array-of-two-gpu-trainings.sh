#!/bin/bash
# Tricky: an array member picks its own port from the array index.
#SBATCH --nodes=1 --ntasks=1 --gpus-per-node=2 --array=1-2
torchrun --nproc_per_node=2 --master_port=$((29500 + SLURM_ARRAY_TASK_ID)) train.py --fold $SLURM_ARRAY_TASK_ID
