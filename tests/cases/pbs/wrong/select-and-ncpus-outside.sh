#!/bin/bash
# wrong: ncpus beside select: qsub wants it inside the chunk.
#PBS -l select=1:ngpus=2
#PBS -l ncpus=8
#PBS -l walltime=00:30:00
cd $PBS_O_WORKDIR
torchrun --standalone --nproc_per_node=2 train.py
