#!/bin/bash
#SBATCH -p gh-dev
#SBATCH -N 2
#SBATCH -n 2
#SBATCH -t 00:30:00
#SBATCH -J acc

export MAIN=$(scontrol show hostnames $SLURM_JOB_NODELIST | head -n 1)
mpirun -np 2 --map-by ppr:1:node bash -c 'accelerate launch --multi_gpu --num_machines 2 --num_processes 2 --machine_rank $OMPI_COMM_WORLD_RANK --main_process_ip $MAIN --main_process_port 29501 train.py'
