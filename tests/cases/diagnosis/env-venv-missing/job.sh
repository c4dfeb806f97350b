#!/bin/bash
#SBATCH --nodes=1
#SBATCH --gpus-per-node=1
#SBATCH --time=01:00:00
# train


cd $SLURM_SUBMIT_DIR
date
hostname

source /scratch/old/venv/bin/activate
python run.py
