#!/bin/bash
# wrong: written on Windows: qsub refuses lines that end in CR LF.
#PBS -l select=1:ncpus=8:ngpus=2
#PBS -l walltime=00:30:00
cd $PBS_O_WORKDIR
torchrun --standalone --nproc_per_node=2 train.py
