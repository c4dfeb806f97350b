#!/bin/bash
# wrong: eight GPUs in one chunk; a node has four, so the job waits for ever.
# site: alcf-polaris
# lab: no (it is accepted, and never starts)
#PBS -A AlphaTrain
#PBS -q debug
#PBS -l select=1:ngpus=8
#PBS -l walltime=00:30:00
#PBS -l filesystems=home:eagle
cd $PBS_O_WORKDIR
torchrun --standalone --nproc_per_node=8 train.py
