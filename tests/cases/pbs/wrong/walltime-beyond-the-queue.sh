#!/bin/bash
# wrong: the queue debug ends at one hour.
# site: alcf-aurora
#PBS -A AlphaTrain
#PBS -q debug
#PBS -l select=1
#PBS -l walltime=12:00:00
#PBS -l filesystems=flare
cd $PBS_O_WORKDIR
torchrun --standalone --nproc_per_node=12 train.py
