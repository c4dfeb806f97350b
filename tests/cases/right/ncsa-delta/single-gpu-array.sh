#!/bin/bash
#SBATCH --account=bbka-delta-gpu
#SBATCH --partition=gpuA40x4
#SBATCH --nodes=1
#SBATCH --ntasks=1
#SBATCH --gpus-per-node=1
#SBATCH --mem=32g
#SBATCH --time=02:00:00
#SBATCH --array=0-2

LRS=(1e-3 3e-4 1e-4)
python train_single.py --lr ${LRS[$SLURM_ARRAY_TASK_ID]} --seed $SLURM_ARRAY_TASK_ID
