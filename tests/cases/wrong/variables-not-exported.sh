#!/bin/bash
# Wrong: the master is set, but not exported: the task shell does not see it.
#SBATCH --nodes=2 --ntasks-per-node=1 --gpus-per-node=2
HEAD=$(scontrol show hostnames "$SLURM_JOB_NODELIST" | head -n 1)
srun bash -c 'torchrun --nnodes=2 --nproc_per_node=2 --node_rank=$SLURM_NODEID --master_addr=$HEAD --master_port=29500 train.py'
