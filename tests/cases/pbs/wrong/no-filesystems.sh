#!/bin/bash
# wrong: no file systems are named: the submission is refused.
# site: alcf-polaris
#PBS -A AlphaTrain
#PBS -q debug
#PBS -l select=1
#PBS -l walltime=00:30:00
cd $PBS_O_WORKDIR
torchrun --standalone --nproc_per_node=4 train.py
