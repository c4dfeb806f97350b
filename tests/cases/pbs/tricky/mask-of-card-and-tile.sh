#!/bin/bash
# Tricky: the mask of a rank is 0.0, 0.1, 1.0 ...: card and tile, as with the composite hierarchy.
# site: alcf-aurora
#PBS -A AlphaTrain
#PBS -q debug
#PBS -l select=1
#PBS -l walltime=00:30:00
#PBS -l filesystems=flare
cd $PBS_O_WORKDIR
export ZE_FLAT_DEVICE_HIERARCHY=COMPOSITE
export MASTER_ADDR=localhost MASTER_PORT=29500 WORLD_SIZE=12
mpiexec -n 12 --ppn 12 bash -c '
    export ZE_AFFINITY_MASK=$((PALS_LOCAL_RANKID / 2)).$((PALS_LOCAL_RANKID % 2))
    RANK=$PALS_RANKID LOCAL_RANK=0 python train.py'
