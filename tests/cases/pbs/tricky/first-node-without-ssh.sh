#!/bin/bash
# Tricky: only the other nodes are reached by ssh; the first one is trained on right here.
#PBS -l select=2:ncpus=8:ngpus=2
#PBS -l place=scatter
#PBS -l walltime=00:30:00
cd $PBS_O_WORKDIR
head=$(head -n 1 $PBS_NODEFILE)
r=1
for n in $(tail -n +2 $PBS_NODEFILE); do
    ssh $n "cd $PBS_O_WORKDIR && torchrun --nnodes=2 --node_rank=$r --nproc_per_node=2 --master_addr=$head train.py" &
    r=$((r + 1))
done
torchrun --nnodes=2 --node_rank=0 --nproc_per_node=2 --master_addr=$head train.py
wait
