#!/bin/bash
# Tricky: a line that begins with a colon does not end the directives for qsub.
: "settings of the group, do not touch"
#PBS -l select=1:ncpus=4:ngpus=4
#PBS -l walltime=00:30:00
cd $PBS_O_WORKDIR
torchrun --standalone --nproc_per_node=4 train.py
