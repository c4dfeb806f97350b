#!/bin/bash
# wrong: select and nodes= are two ways to ask for the same thing and are not taken together.
#PBS -l select=2:ncpus=8:ngpus=2
#PBS -l nodes=2:ppn=8
#PBS -l walltime=00:30:00
cd $PBS_O_WORKDIR
torchrun --standalone --nproc_per_node=2 train.py
