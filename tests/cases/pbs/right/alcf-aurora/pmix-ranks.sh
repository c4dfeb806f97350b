#!/bin/bash
#PBS -A AlphaTrain
#PBS -q debug
#PBS -l select=2
#PBS -l walltime=00:30:00
#PBS -l filesystems=flare
# With PMIx as the wire-up the rank stands in PMIX_RANK.

cd $PBS_O_WORKDIR
export CCL_PROCESS_LAUNCHER=pmix CCL_ATL_TRANSPORT=mpi CCL_KVS_MODE=mpi
export MASTER_ADDR=$(head -n 1 $PBS_NODEFILE) MASTER_PORT=2345
export WORLD_SIZE=24
mpiexec --pmi=pmix -n 24 --ppn 12 \
    --cpu-bind=verbose,list:4-7:8-11:12-15:16-19:20-23:24-27:56-59:60-63:64-67:68-71:72-75:76-79 \
    bash -c 'RANK=${PMIX_RANK:-$PALS_RANKID} LOCAL_RANK=$PALS_LOCAL_RANKID python train.py'
