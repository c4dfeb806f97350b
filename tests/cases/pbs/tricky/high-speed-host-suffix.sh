#!/bin/bash
# Tricky: the master is no line of the node file: the node's name on the fast network has a suffix.
# site: alcf-aurora
#PBS -A AlphaTrain
#PBS -q debug
#PBS -l select=2
#PBS -l walltime=00:30:00
#PBS -l filesystems=flare
cd $PBS_O_WORKDIR
first=$(head -n 1 $PBS_NODEFILE | cut -d. -f1)
export MASTER_ADDR=${first}.hsn.cm.aurora.alcf.anl.gov MASTER_PORT=2345 WORLD_SIZE=24
mpiexec -n 24 --ppn 12 bash -c 'RANK=$PALS_RANKID LOCAL_RANK=$PALS_LOCAL_RANKID python train.py'
