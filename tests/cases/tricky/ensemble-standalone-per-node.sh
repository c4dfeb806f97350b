#!/bin/bash
# Tricky: an ensemble: --standalone on each node makes one world a node, and the seed differs, so it is meant.
#SBATCH --nodes=2 --ntasks-per-node=1 --gpus-per-node=4
srun bash -c 'torchrun --standalone --nproc_per_node=4 train.py --seed $SLURM_NODEID'
