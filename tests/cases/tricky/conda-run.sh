#!/bin/bash
# Tricky: conda run is one more word in front of the launcher.
#SBATCH --nodes=1 --ntasks=1 --gpus-per-node=2
# lab: no (no conda there)
conda run --no-capture-output -n torch torchrun --standalone --nproc_per_node=2 train.py
