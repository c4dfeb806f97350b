#!/bin/bash
#SBATCH -N1
#SBATCH -n2
#SBATCH --gres=gpu:2
srun python distributed_slurm_main.py --dist-file dist_file
