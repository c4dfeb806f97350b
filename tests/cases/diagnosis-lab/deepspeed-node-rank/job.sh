#!/bin/bash
#SBATCH --nodes=2
#SBATCH --ntasks-per-node=1
#SBATCH --gpus-per-node=2
#SBATCH --time=10:00
export MASTER_ADDR=$(scontrol show hostnames $SLURM_JOB_NODELIST | head -n1)
for host in $(scontrol show hostnames $SLURM_JOB_NODELIST); do echo "$host slots=2"; done > hostfile
srun deepspeed --hostfile=hostfile --no_ssh --master_addr=$MASTER_ADDR --master_port=29500 train_ds.py
