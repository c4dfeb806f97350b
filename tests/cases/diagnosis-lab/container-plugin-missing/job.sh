#!/bin/bash
#SBATCH --nodes=1
#SBATCH --ntasks-per-node=2
#SBATCH --time=10:00
srun --container-image=/images/torch-26.01.sqsh python toy.py
