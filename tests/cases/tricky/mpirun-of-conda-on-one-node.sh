#!/bin/bash
# Tricky: an mpirun that knows nothing of the job starts all ranks here, so localhost is right.
# lab: no (its mpirun is another)
#SBATCH -N 2 --gpus-per-node=4 --ntasks-per-node=1
export MASTER_ADDR=localhost MASTER_PORT=29500 WORLD_SIZE=4
conda activate own
mpirun -np 4 bash -c 'RANK=$OMPI_COMM_WORLD_RANK python train.py'
