#!/bin/bash
# Tricky: the host file is made from the node file by uniq -c and awk: two nodes, not eight.
# lab: MAPLE_MPI=hydra
#PBS -l select=2:ncpus=8:ngpus=4:mpiprocs=4
#PBS -l place=scatter
#PBS -l walltime=00:30:00
cd $PBS_O_WORKDIR
uniq -c $PBS_NODEFILE | awk '{ print $2 " slots=" $1 }' > hostfile
cut -d' ' -f1 hostfile > names
export HEAD=$(head -n 1 names)
mpiexec -f names -n $(wc -l < names) -ppn 1 bash -c \
    'deepspeed --hostfile hostfile --no_ssh --node_rank $PMI_RANK --master_addr $HEAD --master_port 29500 train.py'
