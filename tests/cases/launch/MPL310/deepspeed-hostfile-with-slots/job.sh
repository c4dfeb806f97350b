#!/bin/bash
#SBATCH --nodes=2 --ntasks-per-node=1 --cpus-per-task=8 --gpus-per-node=4
export HOSTFILE=$PWD/hosts.$SLURM_JOB_ID MASTER_ADDR=$(scontrol show hostnames "$SLURM_JOB_NODELIST" | head -n 1)
scontrol show hostnames "$SLURM_JOB_NODELIST" | sed "s|$| slots=4|" > "$HOSTFILE"
srun bash -c 'deepspeed --hostfile=$HOSTFILE --no_ssh --node_rank=$SLURM_NODEID --num_gpus=4 \
    --master_addr=$MASTER_ADDR --master_port=29700 train.py'
