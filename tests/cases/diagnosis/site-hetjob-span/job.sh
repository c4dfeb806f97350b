#!/bin/bash
#SBATCH --job-name=rl
#SBATCH --nodes=2 --ntasks-per-node=16 --partition=cpu
#SBATCH hetjob
#SBATCH --nodes=1 --ntasks=4 --gres=gpu:4 --partition=gpu
echo "component 0: $SLURM_JOB_NODELIST_HET_GROUP_0"
echo "component 1: $SLURM_JOB_NODELIST_HET_GROUP_1"
srun --het-group=0,1 python actor_learner.py
