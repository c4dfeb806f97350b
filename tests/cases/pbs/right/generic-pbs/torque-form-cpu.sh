#!/bin/sh
# lab: MAPLE_MPI=hydra
#PBS -l nodes=2:ppn=4
#PBS -l walltime=01:00:00
#PBS -N cpu-gloo

cd $PBS_O_WORKDIR
MASTER_ADDR=`head -n 1 $PBS_NODEFILE`
MASTER_PORT=23456
export MASTER_ADDR MASTER_PORT
NP=`wc -l < $PBS_NODEFILE`
mpiexec -n $NP sh -c 'RANK=$PMI_RANK WORLD_SIZE=$PMI_SIZE LOCAL_RANK=$MPI_LOCALRANKID python train.py --backend gloo'
