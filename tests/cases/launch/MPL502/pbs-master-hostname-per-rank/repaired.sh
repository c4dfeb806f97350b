#!/bin/bash
#PBS -A AlphaTrain
#PBS -q debug
#PBS -l select=2
#PBS -l walltime=00:30:00
#PBS -l filesystems=flare
cd $PBS_O_WORKDIR
export MASTER_PORT=29500 WORLD_SIZE=24
mpiexec -n 24 --ppn 12 bash -c 'MASTER_ADDR='"$(head -n 1 "$PBS_NODEFILE")"' RANK=$PALS_RANKID LOCAL_RANK=$PALS_LOCAL_RANKID python train.py'
