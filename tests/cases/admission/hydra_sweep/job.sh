#!/bin/bash
#SBATCH --nodes=1
#SBATCH --ntasks=1
#SBATCH --gpus-per-node=4
python train.py -m optim.lr=0.1,0.2 seed=3
