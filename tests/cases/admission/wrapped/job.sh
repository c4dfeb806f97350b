#!/bin/bash
#SBATCH --nodes=1
#SBATCH --ntasks=1
srun site_bind exec python train.py --lr 1e-3
