#!/bin/bash
#SBATCH -N 2
#SBATCH -p GPU
#SBATCH --gpus=v100-32:16
#SBATCH --ntasks-per-node=1
#SBATCH -t 1:00:00

export MAIN=$(scontrol show hostnames $SLURM_JOB_NODELIST | head -n 1)
srun bash -c 'accelerate launch --multi_gpu --num_processes 16 --num_machines 2 --machine_rank ${SLURM_NODEID} --main_process_ip $MAIN --main_process_port 29500 train.py'
