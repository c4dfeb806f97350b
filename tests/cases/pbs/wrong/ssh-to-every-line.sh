#!/bin/bash
# wrong: the loop goes over lines, not nodes: each node gets four torchruns, which want the same GPUs.
#PBS -l select=2:ncpus=16:mpiprocs=4:ngpus=4
#PBS -l place=scatter
#PBS -l walltime=00:30:00
cd $PBS_O_WORKDIR
HEAD=$(head -n 1 $PBS_NODEFILE)
N=$(wc -l < $PBS_NODEFILE)
r=0
for host in $(cat $PBS_NODEFILE); do
    ssh $host "cd $PBS_O_WORKDIR; torchrun --nnodes=$N --node_rank=$r --nproc_per_node=4 --master_addr=$HEAD train.py" &
    r=$((r + 1))
done
wait
