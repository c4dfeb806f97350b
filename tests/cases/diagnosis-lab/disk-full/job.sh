#!/bin/bash
#SBATCH --nodes=1
#SBATCH --ntasks-per-node=1
#SBATCH --time=10:00
mkdir -p out
srun unshare -m sh -c 'mount -t tmpfs -o size=1m tmpfs out; exec python saves.py'
