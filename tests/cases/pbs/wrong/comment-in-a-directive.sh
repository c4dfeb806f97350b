#!/bin/bash
# wrong: qsub takes no comment behind a directive and refuses the script.
#PBS -l select=1:ncpus=8:ngpus=2   # one node is enough
#PBS -l walltime=00:30:00
cd $PBS_O_WORKDIR
torchrun --standalone --nproc_per_node=2 train.py
