#!/bin/bash
#SBATCH -N2 --ntasks-per-node=2 --gpus-per-node=2
mpirun --ntasks=4 python train.py
