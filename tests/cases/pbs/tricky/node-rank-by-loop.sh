#!/bin/bash
# Tricky: the node rank is expanded in the batch shell: once for each turn of the loop, so it differs.
#PBS -l select=3:ncpus=8:ngpus=2
#PBS -l place=scatter
#PBS -l walltime=00:30:00
cd $PBS_O_WORKDIR
nodes=($(cat $PBS_NODEFILE))
for ((i = 0; i < ${#nodes[@]}; i++)); do
    ssh ${nodes[i]} "cd $PWD; torchrun --nnodes=${#nodes[@]} --node_rank=$i --nproc_per_node=2 --master_addr=${nodes[0]} train.py" &
done
wait
