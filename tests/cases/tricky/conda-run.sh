#!/bin/bash
# Tricky: conda run is one more word in front of the launcher.
# lab: no (its conda starts nothing)
#SBATCH --nodes=1 --ntasks=1 --gpus-per-node=2
conda run --no-capture-output -n torch torchrun --standalone --nproc_per_node=2 train.py
