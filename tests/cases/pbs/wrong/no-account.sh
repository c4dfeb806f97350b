#!/bin/bash
# wrong: no project: the submission is refused.
# site: alcf-aurora
#PBS -q debug
#PBS -l select=1
#PBS -l walltime=00:30:00
#PBS -l filesystems=flare
cd $PBS_O_WORKDIR
torchrun --standalone --nproc_per_node=12 train.py
