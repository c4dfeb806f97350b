#!/bin/bash
# Wrong: two machines without --machine_rank.
#SBATCH --nodes=2 --ntasks-per-node=1 --gpus-per-node=2
HEAD=$(scontrol show hostnames "$SLURM_JOB_NODELIST" | head -n 1)
srun accelerate launch --multi_gpu --num_machines 2 --num_processes 4 --main_process_ip $HEAD --main_process_port 29500 train.py
