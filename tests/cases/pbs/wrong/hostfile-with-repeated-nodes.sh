#!/bin/bash
# wrong: with mpiprocs=2 each node stands twice in the host file, which deepspeed refuses.
# lab: MAPLE_MPI=hydra
#PBS -l select=2:ncpus=8:ngpus=2:mpiprocs=2
#PBS -l place=scatter
#PBS -l walltime=00:30:00
cd $PBS_O_WORKDIR
export HEAD=$(head -n 1 $PBS_NODEFILE)
sed 's/$/ slots=2/' $PBS_NODEFILE > hostfile
mpiexec -n 2 -ppn 1 bash -c 'deepspeed --hostfile hostfile --no_ssh --node_rank $PMI_RANK --master_addr $HEAD --master_port 29500 train.py'
