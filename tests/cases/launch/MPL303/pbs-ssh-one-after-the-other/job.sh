#!/bin/bash
#PBS -l select=2:ncpus=8:ngpus=2
#PBS -l place=scatter
#PBS -l walltime=00:30:00
cd $PBS_O_WORKDIR
HEAD=$(head -n 1 $PBS_NODEFILE)
r=0
for host in $(cat $PBS_NODEFILE); do
    ssh $host "cd $PBS_O_WORKDIR; torchrun --nnodes=2 --node_rank=$r --nproc_per_node=2 --master_addr=$HEAD train.py"
    r=$((r + 1))
done
