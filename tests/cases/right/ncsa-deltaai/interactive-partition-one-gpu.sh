#!/bin/bash
#SBATCH -A bdaa-dtai-gh
#SBATCH -p ghx4-interactive
#SBATCH --nodes=1
#SBATCH --ntasks=1
#SBATCH --gpus-per-node=1
#SBATCH --mem=100g
#SBATCH -t 00:30:00
srun python eval.py --ckpt last.pt
