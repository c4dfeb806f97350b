#!/bin/bash
#SBATCH --nodes=2
#SBATCH --time=2h
srun python train.py
