#!/bin/bash
# Tricky: what other jobs asked for is commented out; none of these is a directive.
##PBS -l select=8:ncpus=64:ngpus=8
# PBS -l select=16
#pbs -l select=32
#PBS -l select=1:ncpus=8:ngpus=2
#PBS -l walltime=00:30:00
cd $PBS_O_WORKDIR
torchrun --standalone --nproc_per_node=2 train.py
