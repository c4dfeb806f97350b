#!/bin/bash
# Tricky: the same words as for every other MPI, under PALS: the local rank is counted, and right.
# site: alcf-polaris
#PBS -A AlphaTrain
#PBS -q debug
#PBS -l select=2
#PBS -l walltime=00:30:00
#PBS -l filesystems=home:eagle
cd $PBS_O_WORKDIR
export MASTER_ADDR=$(head -n 1 $PBS_NODEFILE) MASTER_PORT=29500 WORLD_SIZE=8
mpiexec -n 8 --ppn 4 bash -c '
    export RANK=${OMPI_COMM_WORLD_RANK:-${PMIX_RANK:-${PALS_RANKID:-0}}}
    export LOCAL_RANK=$((RANK % 4))
    python train.py'
