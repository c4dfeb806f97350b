#!/bin/bash
# wrong: no cd: settings.inc is looked for in HOME, and without it there are no counts.
#PBS -l select=1:ncpus=8:ngpus=2
#PBS -l walltime=00:30:00
source ./settings.inc
torchrun --standalone --nproc_per_node=$WORKERS train.py
