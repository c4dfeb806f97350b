#!/bin/bash
#SBATCH --nodes=2 --ntasks-per-node=1 --cpus-per-task=8 --gpus-per-node=4
HEAD=$(scontrol show hostnames "$SLURM_JOB_NODELIST" | head -n 1)
srun bash -c 'exec accelerate launch --machine_rank="$SLURM_NODEID" "$@"' bash --num_machines 2 --num_processes 8 --main_process_ip $HEAD --main_process_port 29500 train.py
