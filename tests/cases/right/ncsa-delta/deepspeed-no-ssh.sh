#!/bin/bash
#SBATCH --account=bbka-delta-gpu
#SBATCH --partition=gpuA100x4
#SBATCH --nodes=2
#SBATCH --ntasks-per-node=1
#SBATCH --gpus-per-node=4
#SBATCH --cpus-per-task=16
#SBATCH --mem=200g
#SBATCH --time=04:00:00

export MASTER_ADDR=$(scontrol show hostnames "$SLURM_JOB_NODELIST" | head -n 1)
export HOSTFILE=hostfile.$SLURM_JOB_ID
scontrol show hostnames "$SLURM_JOB_NODELIST" | sed 's/$/ slots=4/' > $HOSTFILE

srun bash -c 'deepspeed --hostfile=$HOSTFILE --no_ssh --node_rank=$SLURM_NODEID --master_addr=$MASTER_ADDR --master_port=29500 train.py --deepspeed ds_config.json'
