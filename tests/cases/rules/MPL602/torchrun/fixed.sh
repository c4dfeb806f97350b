#!/bin/bash
#PBS -l select=2:ncpus=8:ngpus=4,place=scatter
cd "$PBS_O_WORKDIR" && torchrun --standalone --nproc_per_node=4 src/train.py --lr 1
