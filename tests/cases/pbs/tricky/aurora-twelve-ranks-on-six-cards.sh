#!/bin/bash
# Tricky: six cards a node and twelve ranks: a card has two tiles, and each is a device.
# site: alcf-aurora
#PBS -A AlphaTrain
#PBS -q debug
#PBS -l select=1
#PBS -l walltime=00:30:00
#PBS -l filesystems=flare
cd $PBS_O_WORKDIR
export MASTER_ADDR=$(head -n 1 $PBS_NODEFILE) MASTER_PORT=29500 WORLD_SIZE=12
mpiexec -n 12 --ppn 12 bash -c 'RANK=$PALS_RANKID LOCAL_RANK=$PALS_LOCAL_RANKID python train.py'
