#!/bin/bash
#SBATCH --nodes=1
#SBATCH --ntasks=1
#SBATCH --gpus-per-node=4
srun python train_a.py --lr 1
srun python train_b.py --lr 2
