#!/bin/bash
# Tricky: the nodes are reached by ssh in a loop; a plain launcher line on the first alone would be wrong.
#SBATCH --nodes=2 --ntasks-per-node=1 --gpus-per-node=2
# lab: no (no ssh between its nodes)
i=0
for host in $(scontrol show hostnames $SLURM_JOB_NODELIST); do
    ssh $host "cd $PWD && torchrun --nnodes=2 --nproc_per_node=2 --node_rank=$i --master_addr=$(hostname) --master_port=29500 train.py" &
    i=$((i + 1))
done
wait
