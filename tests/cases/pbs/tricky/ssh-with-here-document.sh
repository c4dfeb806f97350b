#!/bin/bash
# Tricky: what runs on the other nodes is a here-document: its variables are expanded here, and that is meant.
#PBS -l select=2:ncpus=8:ngpus=2
#PBS -l place=scatter
#PBS -l walltime=00:30:00
cd $PBS_O_WORKDIR
head=$(head -n 1 $PBS_NODEFILE)
rank=0
while read -r host <&3; do
    ssh "$host" bash -s <<EOF &
cd $PBS_O_WORKDIR
torchrun --nnodes=2 --node_rank=$rank --nproc_per_node=2 --master_addr=$head --master_port=29500 train.py
EOF
    rank=$((rank + 1))
done 3< "$PBS_NODEFILE"
wait
