#!/bin/bash
#SBATCH --nodes=2
#SBATCH --ntasks-per-node=1
#SBATCH --gpus-per-node=2
#SBATCH --time=10:00
export MASTER_ADDR=$(scontrol show hostnames $SLURM_JOB_NODELIST | head -n1)
export MASTER_PORT=29500
srun accelerate launch --multi_gpu --num_machines 2 --num_processes 4 --main_process_ip $MASTER_ADDR --main_process_port $MASTER_PORT --mixed_precision no --dynamo_backend no train.py
