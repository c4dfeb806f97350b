#!/bin/bash
# Tricky: with --rdzv_backend c10d accelerate's machine rank decides nothing, early or not.
#SBATCH --nodes=2 --ntasks-per-node=1 --gpus-per-node=2
M=$(scontrol show hostnames $SLURM_JOB_NODELIST | head -n 1)
srun accelerate launch --multi_gpu --num_machines 2 --num_processes 4 --machine_rank $SLURM_NODEID --rdzv_backend c10d --main_process_ip $M --main_process_port 29500 train.py
