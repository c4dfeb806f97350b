#!/bin/bash
# Tricky: two chunks, so two lines in the node file; packed, they are one node with four GPUs.
#PBS -l select=2:ncpus=4:ngpus=2
#PBS -l place=pack
#PBS -l walltime=00:30:00
cd $PBS_O_WORKDIR
torchrun --nnodes=$(sort -u $PBS_NODEFILE | wc -l) --nproc_per_node=4 --master_addr=localhost train.py
