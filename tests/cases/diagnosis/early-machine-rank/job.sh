#!/bin/bash
#SBATCH --job-name=acc
#SBATCH --nodes=2
#SBATCH --ntasks-per-node=1
#SBATCH --gpus-per-node=4
#SBATCH --time=04:00:00
head=$(scontrol show hostnames $SLURM_JOB_NODELIST | head -n1)
srun accelerate launch --multi_gpu --num_machines 2 --num_processes 8 --machine_rank $SLURM_NODEID --main_process_ip $head --main_process_port 29511 --mixed_precision bf16 --dynamo_backend no run_clm.py
