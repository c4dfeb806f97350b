#!/bin/bash
#SBATCH -N 1
#SBATCH -n 4
#SBATCH --time=1:00:00
srun ./run_cctm.csh
