#!/bin/bash
# Tricky: torchrun as an argument of grep, which and type.
#SBATCH --nodes=1 --ntasks=1 --gpus-per-node=1
which torchrun srun
type accelerate > /dev/null 2>&1 || echo "no accelerate"
ps aux | grep torchrun | grep -v grep || true
python train_single.py
