#!/bin/bash
# Tricky: a second mpiexec over the same nodes at the same time: it only looks at the GPUs.
# site: alcf-polaris
#PBS -A AlphaTrain
#PBS -q debug
#PBS -l select=2
#PBS -l walltime=00:30:00
#PBS -l filesystems=home:eagle
cd $PBS_O_WORKDIR
mpiexec -n 2 --ppn 1 nvidia-smi --query-gpu=index,utilization.gpu --format=csv > gpus.log &
export MASTER_ADDR=$(head -n 1 $PBS_NODEFILE) MASTER_PORT=29500
mpiexec -n 8 --ppn 4 bash -c 'RANK=$PMI_RANK WORLD_SIZE=$PMI_SIZE LOCAL_RANK=$PMI_LOCAL_RANK python train.py'
wait
