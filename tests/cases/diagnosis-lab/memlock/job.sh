#!/bin/bash
#SBATCH --nodes=1
#SBATCH --ntasks-per-node=1
#SBATCH --time=10:00
ulimit -l 64
srun setpriv --bounding-set=-ipc_lock --inh-caps=-ipc_lock python pins.py
