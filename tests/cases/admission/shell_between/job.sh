#!/bin/bash
#SBATCH --nodes=1
#SBATCH --ntasks=1
#SBATCH --gpus-per-node=4
srun ./run.sh --lr 3
bash -c 'python train.py --lr 4'
