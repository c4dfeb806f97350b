#!/bin/bash
# Tricky: a job array: every member is a whole training of one process.
#SBATCH --nodes=1 --ntasks=1 --gpus-per-node=1
#SBATCH --array=0-3%2
export SEED=$SLURM_ARRAY_TASK_ID
python train_single.py --seed $SEED
