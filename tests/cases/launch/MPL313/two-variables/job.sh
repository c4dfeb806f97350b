#!/bin/bash
#SBATCH --nodes=1 --ntasks-per-node=1 --gpus-per-node=4
P=python; T=train.py; torchrun --nproc_per_node=4 $P $T
