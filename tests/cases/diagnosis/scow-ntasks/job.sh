#!/bin/bash
#SBATCH -N 1
#SBATCH -p compute
srun -n $SLURM_NPROCS hostname
