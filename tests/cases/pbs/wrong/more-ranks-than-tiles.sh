#!/bin/bash
# wrong: sixteen ranks on a node of twelve tiles.
# site: alcf-aurora
#PBS -A AlphaTrain
#PBS -q debug
#PBS -l select=1
#PBS -l walltime=00:30:00
#PBS -l filesystems=flare
cd $PBS_O_WORKDIR
export MASTER_ADDR=localhost MASTER_PORT=29500 WORLD_SIZE=16
mpiexec -n 16 --ppn 16 bash -c 'RANK=$PALS_RANKID LOCAL_RANK=$PALS_LOCAL_RANKID python train.py'
