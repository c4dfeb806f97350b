#!/bin/bash
# Tricky: eight ranks a node, four GPUs: gloo on the CPU wants none of them.
# site: alcf-polaris
#PBS -A AlphaTrain
#PBS -q debug
#PBS -l select=2
#PBS -l walltime=00:30:00
#PBS -l filesystems=home:eagle
cd $PBS_O_WORKDIR
export MASTER_ADDR=$(head -n 1 $PBS_NODEFILE) MASTER_PORT=29500
mpiexec -n 16 --ppn 8 --depth=4 --cpu-bind depth \
    bash -c 'RANK=$PMI_RANK WORLD_SIZE=$PMI_SIZE LOCAL_RANK=$PMI_LOCAL_RANK python train.py --device=cpu --backend gloo'
