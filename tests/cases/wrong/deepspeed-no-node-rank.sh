#!/bin/bash
# Wrong: --no_ssh without --node_rank.
#SBATCH --nodes=2 --ntasks-per-node=1 --gpus-per-node=2
export HEAD=$(scontrol show hostnames "$SLURM_JOB_NODELIST" | head -n 1)
scontrol show hostnames "$SLURM_JOB_NODELIST" | sed 's/$/ slots=2/' > hostfile
srun deepspeed --hostfile=hostfile --no_ssh --master_addr=$HEAD --master_port=29500 train.py
