#!/bin/bash
# lab: MAPLE_MPI=pals
#PBS -A UABC0001
#PBS -N credit
#PBS -q main
#PBS -j oe
#PBS -k eod
#PBS -l walltime=06:00:00
#PBS -l select=2:ncpus=64:mpiprocs=4:ngpus=4:mem=480GB

cd $PBS_O_WORKDIR
module load conda cuda cray-mpich
conda activate credit

nodes=( $( cat $PBS_NODEFILE | sort | uniq ) )
head_node=${nodes[0]}
export MASTER_ADDR=$head_node MASTER_PORT=1234
export NCCL_SOCKET_IFNAME=hsn
export MPICH_GPU_MANAGED_MEMORY_SUPPORT_ENABLED=1

mpiexec -n 8 -ppn 4 --cpu-bind none bash -c \
    'export RANK=$PMI_RANK LOCAL_RANK=$PMI_LOCAL_RANK WORLD_SIZE=$PMI_SIZE; python applications/train.py -c model.yml'
