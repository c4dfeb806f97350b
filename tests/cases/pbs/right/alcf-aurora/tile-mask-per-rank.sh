#!/bin/bash
#PBS -A AlphaTrain
#PBS -l select=2
#PBS -l walltime=01:00:00
#PBS -l filesystems=home:flare
#PBS -q debug-scaling

set -e
cd $PBS_O_WORKDIR

echo Job: $PBS_JOBID
echo Host: $(hostname)
cat $PBS_NODEFILE

PPN=12
N=$(cat $PBS_NODEFILE | wc -l)
export MASTER_ADDR=$(head -n 1 "$PBS_NODEFILE")
export MASTER_PORT=29500
export WORLD_SIZE=$((N * PPN))
export ZE_FLAT_DEVICE_HIERARCHY=FLAT

# each rank sees its own tile alone, so its device is always the first
mpiexec -n $WORLD_SIZE --ppn $PPN --depth 8 --cpu-bind depth \
  bash -c 'ZE_AFFINITY_MASK=$PALS_LOCAL_RANKID RANK=$PALS_RANKID LOCAL_RANK=0 python train.py'
