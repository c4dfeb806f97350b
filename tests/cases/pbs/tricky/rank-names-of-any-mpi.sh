#!/bin/bash
# Tricky: whichever mpiexec the module brings: the rank is looked for under every name, the local one is counted.
# lab: MAPLE_MPI=hydra
#PBS -l select=2:ncpus=8:ngpus=2:mpiprocs=2
#PBS -l place=scatter
#PBS -l walltime=00:30:00
module load mpich
cd $PBS_O_WORKDIR
export MASTER_ADDR=$(head -n 1 $PBS_NODEFILE) MASTER_PORT=29500 WORLD_SIZE=4
mpiexec -n 4 -ppn 2 bash -c '
    export RANK=${OMPI_COMM_WORLD_RANK:-${PALS_RANKID:-${PMI_RANK:-0}}}
    export LOCAL_RANK=$((RANK % 2))
    python train.py'
