#!/bin/bash
# Tricky: submitted with -C '#JOB': the #PBS lines are comments then.
#PBS -l select=8:ncpus=64:ngpus=8
#JOB -l select=1:ncpus=8:ngpus=2
#JOB -l walltime=00:30:00
cd $PBS_O_WORKDIR
torchrun --standalone --nproc_per_node=2 train.py
