#!/bin/bash
# wrong: the mask is set once, for all twelve ranks: they all take tile 0.
# site: alcf-aurora
#PBS -A AlphaTrain
#PBS -q debug
#PBS -l select=1
#PBS -l walltime=00:30:00
#PBS -l filesystems=flare
cd $PBS_O_WORKDIR
export ZE_AFFINITY_MASK=0
export MASTER_ADDR=localhost MASTER_PORT=29500 WORLD_SIZE=12
mpiexec -n 12 --ppn 12 bash -c 'RANK=$PALS_RANKID LOCAL_RANK=0 python train.py'
