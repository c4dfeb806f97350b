#!/bin/bash
#SBATCH -p gh
#SBATCH -N 1
#SBATCH -n 1
#SBATCH -t 10:00:00
#SBATCH -J single
source /home1/user/.bashrc 2>/dev/null
python train_single.py --lr 3e-4
