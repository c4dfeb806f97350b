#!/bin/bash
# Tricky: two launches on one line, of which the second runs only where the first one fails.
#PBS -l select=1:ncpus=8:ngpus=2
#PBS -l walltime=00:30:00
cd $PBS_O_WORKDIR
torchrun --standalone --nproc_per_node=2 train.py --resume || torchrun --standalone --nproc_per_node=2 train.py
