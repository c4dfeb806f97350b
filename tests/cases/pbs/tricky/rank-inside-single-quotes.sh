#!/bin/bash
# Tricky: $PMI_RANK is expanded by each rank's own shell, not here.
# lab: MAPLE_MPI=hydra
#PBS -l select=2:ncpus=8:ngpus=2:mpiprocs=2
#PBS -l place=scatter
#PBS -l walltime=00:30:00
cd $PBS_O_WORKDIR
export MASTER_ADDR=$(hostname) MASTER_PORT=29500
mpiexec -n 4 -ppn 2 bash -c "export RANK=\$PMI_RANK WORLD_SIZE=\$PMI_SIZE LOCAL_RANK=\$MPI_LOCALRANKID; python train.py"
