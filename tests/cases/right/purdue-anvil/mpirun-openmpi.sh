#!/bin/bash
#SBATCH -A cis220051-gpu
#SBATCH -p gpu
#SBATCH --nodes=2
#SBATCH --gpus-per-node=4
#SBATCH --ntasks-per-node=4
#SBATCH -t 01:00:00

module load gcc openmpi
export MASTER_ADDR=$(hostname)
export MASTER_PORT=29512
mpirun -np $SLURM_NTASKS bash -c 'export RANK=$OMPI_COMM_WORLD_RANK WORLD_SIZE=$OMPI_COMM_WORLD_SIZE LOCAL_RANK=$OMPI_COMM_WORLD_LOCAL_RANK; python train.py'
