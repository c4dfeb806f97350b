#!/bin/bash
#SBATCH -n 2
#SBATCH -o nodes_%A.out
module load gnu9
module load openmpi4

cd $SLURM_SUBMIT_DIR
mpirun -n 2 hostname
