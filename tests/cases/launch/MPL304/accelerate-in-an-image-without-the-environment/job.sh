#!/bin/bash
#SBATCH --nodes=2 --ntasks-per-node=1 --cpus-per-task=8 --gpus-per-node=4
srun apptainer exec --nv --cleanenv i.sif accelerate launch --num_machines=2 --num_processes=8 --machine_rank=$SLURM_NODEID --main_process_ip=$(hostname) --main_process_port=29500 train.py
