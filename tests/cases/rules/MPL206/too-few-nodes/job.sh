#!/bin/bash
#SBATCH --nodes=2
#SBATCH --ntasks-per-node=1
#SBATCH --partition=large
#SBATCH --time=01:00:00
ibrun ./cpu
