#!/bin/bash
# Tricky: 24 ranks on a node of twelve tiles: they train on the CPU, over gloo.
# site: alcf-aurora
#PBS -A AlphaTrain
#PBS -q debug
#PBS -l select=1
#PBS -l walltime=00:30:00
#PBS -l filesystems=flare
cd $PBS_O_WORKDIR
export MASTER_ADDR=localhost MASTER_PORT=29500 WORLD_SIZE=24
mpiexec -n 24 -ppn 24 --cpu-bind depth -d 4 \
    bash -c 'RANK=$PALS_RANKID LOCAL_RANK=$PALS_LOCAL_RANKID python train.py --device=cpu --backend gloo'
