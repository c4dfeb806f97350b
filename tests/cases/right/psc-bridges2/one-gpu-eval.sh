#!/bin/bash
#SBATCH -p GPU-shared
#SBATCH --gpus=l40s-48:1
#SBATCH -N 1 -t 30:00
python evaluate.py --split test
