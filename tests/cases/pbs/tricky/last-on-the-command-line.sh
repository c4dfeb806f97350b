#!/bin/bash
# Tricky: select twice on the command line: there the last one holds.
#PBS -l walltime=00:30:00
cd $PBS_O_WORKDIR
torchrun --standalone --nproc_per_node=2 train.py
