#!/bin/bash
# Tricky: ranks, ranks a node and hosts are all worked out from the node file and told to PALS in variables.
# lab: MAPLE_MPI=pals
#PBS -l select=2:ncpus=16:mpiprocs=4:ngpus=4
#PBS -l place=scatter
#PBS -l walltime=00:30:00
cd $PBS_O_WORKDIR
ranks=$(cat ${PBS_NODEFILE} | wc -l)
nodes=$(cat ${PBS_NODEFILE} | sort | uniq | wc -l)
export PALS_NRANKS=${ranks} PALS_PPN=$((ranks / nodes)) PALS_HOSTFILE=${PBS_NODEFILE}
export MASTER_ADDR=$(head -n 1 ${PBS_NODEFILE}) MASTER_PORT=29500
mpiexec bash -c 'RANK=$PMI_RANK WORLD_SIZE=$PMI_SIZE LOCAL_RANK=$PMI_LOCAL_RANK python train.py'
