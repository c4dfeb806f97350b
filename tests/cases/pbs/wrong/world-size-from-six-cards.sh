#!/bin/bash
# wrong: the world is counted by cards, six a node, and the ranks by tiles, twelve a node.
# site: alcf-aurora
#PBS -A AlphaTrain
#PBS -q debug
#PBS -l select=2
#PBS -l walltime=00:30:00
#PBS -l filesystems=flare
cd $PBS_O_WORKDIR
N=$(wc -l < $PBS_NODEFILE)
export MASTER_ADDR=$(head -n 1 $PBS_NODEFILE) MASTER_PORT=29500 WORLD_SIZE=$((N * 6))
mpiexec -n $((N * 12)) --ppn 12 bash -c 'RANK=$PALS_RANKID LOCAL_RANK=$PALS_LOCAL_RANKID python train.py'
