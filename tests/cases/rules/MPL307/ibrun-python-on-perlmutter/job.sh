#!/bin/bash
#SBATCH --nodes=2
#SBATCH --constraint=gpu
#SBATCH --gpus-per-node=4
#SBATCH --qos=regular
#SBATCH --time=02:00:00
#SBATCH --ntasks-per-node=4
ibrun python train_mpi.py
