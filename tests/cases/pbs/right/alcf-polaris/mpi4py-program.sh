#!/bin/bash
#PBS -A AlphaTrain
#PBS -q debug
#PBS -l select=2
#PBS -l walltime=00:30:00
#PBS -l filesystems=home:eagle

cd $PBS_O_WORKDIR
NGPUS=$(( $(wc -l < $PBS_NODEFILE) * $(nvidia-smi -L | wc -l) ))
echo "$NGPUS GPUs"
export MASTER_ADDR=$(head -n1 $PBS_NODEFILE)
export MASTER_PORT=29500
mpiexec --envall -n $NGPUS --ppn 4 --hostfile $PBS_NODEFILE python3 train_pmi.py --backend nccl
