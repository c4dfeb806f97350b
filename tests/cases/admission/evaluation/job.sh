#!/bin/bash
#SBATCH --nodes=1
#SBATCH --ntasks=1
#SBATCH --gpus-per-node=4
srun python evaluate.py --batch_size 4 --ckpt best.pt
