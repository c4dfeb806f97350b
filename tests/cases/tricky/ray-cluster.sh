#!/bin/bash
# Tricky: Ray starts one daemon a node and places its own workers; four GPUs, one process is right.
# lab: no (no ray there)
#SBATCH --nodes=2 --ntasks-per-node=1 --gpus-per-node=4
nodes=($(scontrol show hostnames "$SLURM_JOB_NODELIST"))
head_node=${nodes[0]}
port=6379
srun --nodes=1 --ntasks=1 -w "$head_node" ray start --head --node-ip-address="$head_node" --port=$port --block &
sleep 0.2
for ((i = 1; i <= SLURM_JOB_NUM_NODES - 1; i++)); do
    srun --nodes=1 --ntasks=1 -w "${nodes[$i]}" ray start --address "$head_node:$port" --block &
done
sleep 0.2
python -u tune.py
wait
