#!/bin/bash
#PBS -N mixed
#PBS -l select=1:ncpus=16:ngpus=2:mem=64gb+1:ncpus=8:ngpus=2:mem=32gb
#PBS -l place=scatter
#PBS -l walltime=01:00:00
# The first node has more cores for the data; both have two GPUs.

cd $PBS_O_WORKDIR
head=$(head -n 1 $PBS_NODEFILE)
n=0
for host in $(uniq $PBS_NODEFILE); do
    ssh $host "cd $PBS_O_WORKDIR; torchrun --nnodes=2 --nproc_per_node=2 --node_rank=$n --master_addr=$head train.py" &
    n=$((n+1))
done
wait
