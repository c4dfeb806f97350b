#!/bin/bash
#SBATCH --nodes=1
#SBATCH --ntasks=1
#SBATCH --gpus-per-node=4
python prepare_data.py --seed 9
srun python train.py --lr 1
python evaluate.py --lr 7
