#!/bin/bash
# wrong: NCCL is for NVIDIA GPUs; this machine's are Intel's, and the backend is xccl.
# site: alcf-aurora
# lab: no (its ranks speak no NCCL, so nothing there would refuse it)
#PBS -A AlphaTrain
#PBS -q debug
#PBS -l select=2
#PBS -l walltime=00:30:00
#PBS -l filesystems=flare
cd $PBS_O_WORKDIR
export MASTER_ADDR=$(head -n 1 $PBS_NODEFILE) MASTER_PORT=29500 WORLD_SIZE=24
mpiexec -n 24 --ppn 12 bash -c 'RANK=$PALS_RANKID LOCAL_RANK=$PALS_LOCAL_RANKID python train.py --backend nccl'
