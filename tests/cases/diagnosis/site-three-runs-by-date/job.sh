#!/bin/bash
#SBATCH --gres=gpu:1 --time=12:00:00
echo "$(date) $(hostname)" >> log.txt
srun python t.py >> log.txt 2>&1
