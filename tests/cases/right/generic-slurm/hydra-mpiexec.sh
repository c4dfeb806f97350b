#!/bin/bash
# lab: MAPLE_MPI=hydra
#SBATCH --nodes=2
#SBATCH --ntasks-per-node=2
#SBATCH --gpus-per-node=2

export MASTER_ADDR=$(hostname)
export MASTER_PORT=29500
mpiexec -n 4 -ppn 2 bash -c 'RANK=$PMI_RANK WORLD_SIZE=$PMI_SIZE LOCAL_RANK=$MPI_LOCALRANKID python train.py'
