#!/bin/bash
#SBATCH --nodes=2 --ntasks-per-node=1 --cpus-per-task=8 --gpus-per-node=4
if [ -d /opt/own ]; then module load openmpi; fi
mpirun --ntasks=4 python train.py
