#!/bin/bash
# wrong: the world has eight ranks and the master is set, but python is started once.
# site: alcf-polaris
#PBS -A AlphaTrain
#PBS -q debug
#PBS -l select=2
#PBS -l walltime=00:30:00
#PBS -l filesystems=home:eagle
cd $PBS_O_WORKDIR
export MASTER_ADDR=$(head -n 1 $PBS_NODEFILE) MASTER_PORT=29500
export WORLD_SIZE=8 RANK=0 LOCAL_RANK=0
python train.py
