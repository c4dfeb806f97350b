#!/bin/bash
#SBATCH --nodes=1
#SBATCH --time=01:00:00
srun python2.7 train.py
