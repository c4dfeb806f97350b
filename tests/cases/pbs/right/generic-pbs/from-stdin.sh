#!/bin/bash
#PBS -l walltime=00:10:00
cd "$PBS_O_WORKDIR"
torchrun --standalone --nproc_per_node=2 train.py
