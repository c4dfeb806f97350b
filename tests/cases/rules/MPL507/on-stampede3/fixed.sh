#!/bin/bash
#SBATCH --nodes=2
#SBATCH --ntasks-per-node=8
#SBATCH --partition=pvc
#SBATCH --time=02:00:00
ibrun python train.py --dist-backend xccl
