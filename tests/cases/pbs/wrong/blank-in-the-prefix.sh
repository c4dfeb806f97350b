#!/bin/bash
# wrong: '# PBS' is a comment: the job is one node with one CPU, and no GPU.
# PBS -l select=1:ncpus=8:ngpus=4
# PBS -l walltime=00:30:00
cd $PBS_O_WORKDIR
torchrun --standalone --nproc_per_node=4 train.py
