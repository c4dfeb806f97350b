#!/bin/bash
# Tricky: PER_NODE is set where the job is submitted, and -V takes it along.
# lab: PER_NODE=2
#PBS -l select=1:ncpus=8:ngpus=2
#PBS -l walltime=00:30:00
cd $PBS_O_WORKDIR
torchrun --standalone --nproc_per_node=$PER_NODE train.py
