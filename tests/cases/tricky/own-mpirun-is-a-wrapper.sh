#!/bin/bash
# Tricky: the mpirun in front of PATH is a script of the user, with options of its own.
# lab: no (its mpirun is another)
#SBATCH -N 4 --ntasks-per-node=8 --gpus-per-node=8 --exclusive
export PATH=$HOME/wrappers:$PATH
mpirun --ntasks=32 --gpus python train.py
