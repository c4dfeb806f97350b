#!/bin/bash
#PBS -l select=1:ncpus=8:ngpus=2:mpiprocs=2
#PBS -l walltime=00:30:00
cd $PBS_O_WORKDIR
export MASTER_ADDR=localhost MASTER_PORT=29500 WORLD_SIZE=2
mpiexec -n 2 bash -c "RANK=\$PMI_RANK LOCAL_RANK=\$MPI_LOCALRANKID python train.py"
