#!/bin/bash
# Tricky: split cuts the node file in pieces of one node, and each piece trains alone: an ensemble, not a mistake.
# site: alcf-aurora
#PBS -A AlphaTrain
#PBS -q debug
#PBS -l select=2
#PBS -l walltime=00:30:00
#PBS -l filesystems=flare
cd $PBS_O_WORKDIR
split --lines=1 --numeric-suffixes=1 --suffix-length=2 $PBS_NODEFILE piece.
for piece in piece.*; do
    MASTER_ADDR=$(cat $piece) MASTER_PORT=29500 WORLD_SIZE=6 mpiexec -n 6 --ppn 6 --hostfile $piece --cpu-bind none \
        bash -c 'RANK=$PALS_RANKID LOCAL_RANK=$PALS_LOCAL_RANKID python train.py' &
    sleep 0.1
done
wait
