#!/bin/bash
#SBATCH --nodes=2
#SBATCH --ntasks-per-node=1
#SBATCH --gpus-per-node=4
#SBATCH --time=02:00:00
export MASTER_ADDR=$(scontrol show hostnames $SLURM_JOB_NODELIST | head -n1)
export MASTER_PORT=29440
srun accelerate launch --multi_gpu --num_machines 2 --num_processes 8 --machine_rank 0 --main_process_ip $MASTER_ADDR --main_process_port $MASTER_PORT --mixed_precision bf16 --dynamo_backend no train.py
