#!/bin/bash
#PBS -N ssh-loop
#PBS -P proj0815
#PBS -q gpu
#PBS -l select=2:ncpus=8:ngpus=4:mpiprocs=1:mem=64gb
#PBS -l place=scatter
#PBS -l walltime=04:00:00
#PBS -j oe

cd $PBS_O_WORKDIR
MASTER_ADDR=$(head -n 1 $PBS_NODEFILE)
NNODES=$(wc -l < $PBS_NODEFILE)

rank=0
for node in $(cat $PBS_NODEFILE); do
    echo "node $rank is $node"
    ssh -o StrictHostKeyChecking=no $node "cd $PBS_O_WORKDIR && torchrun --nnodes=$NNODES --nproc_per_node=4 \
        --node_rank=$rank --master_addr=$MASTER_ADDR --master_port=29500 train.py" &
    rank=$((rank + 1))
done
wait
