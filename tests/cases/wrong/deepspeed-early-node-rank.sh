#!/bin/bash
# Wrong: deepspeed's node rank is expanded in the batch shell.
#SBATCH --nodes=2 --ntasks-per-node=1 --gpus-per-node=2
export HEAD=$(scontrol show hostnames "$SLURM_JOB_NODELIST" | head -n 1)
scontrol show hostnames "$SLURM_JOB_NODELIST" | sed 's/$/ slots=2/' > hostfile
srun deepspeed --hostfile=hostfile --no_ssh --node_rank=$SLURM_NODEID --master_addr=$HEAD --master_port=29500 train.py
