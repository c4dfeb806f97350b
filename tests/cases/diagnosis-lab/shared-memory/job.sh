#!/bin/bash
#SBATCH --nodes=1
#SBATCH --ntasks-per-node=1
#SBATCH --time=10:00
srun unshare -m sh -c 'mount -t tmpfs -o size=1m tmpfs /dev/shm; exec python loads.py'
