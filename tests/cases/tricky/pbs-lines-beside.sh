#!/bin/bash
# Tricky: qsub's lines for the old cluster are commented out twice over.
##PBS -l nodes=8:ppn=8
# PBS -N old
#SBATCH --nodes=1 --ntasks=1 --gpus-per-node=2
torchrun --standalone --nproc_per_node=2 train.py
