#!/bin/bash
# Tricky: no cd at all: every path is absolute, the job stays in HOME.
#PBS -l select=1:ncpus=8:ngpus=2
#PBS -l walltime=00:30:00
torchrun --standalone --nproc_per_node=2 "$PBS_O_WORKDIR/train.py" --config "$PBS_O_WORKDIR/c.yaml"
