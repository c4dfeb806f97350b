#!/bin/bash
#PBS -l select=2:ncpus=8:ngpus=2
#PBS -l place=scatter
#PBS -l walltime=00:30:00
cd $PBS_O_WORKDIR
export MASTER_ADDR=$(head -n 1 $PBS_NODEFILE) MASTER_PORT=29500 NNODES=2
r=0
for host in $(cat $PBS_NODEFILE); do
    ssh $host "cd $PBS_O_WORKDIR; torchrun --nnodes=\$NNODES --node_rank=$r --nproc_per_node=2 --master_addr=\$MASTER_ADDR --master_port=\$MASTER_PORT train.py" &
    r=$((r + 1))
done
wait
