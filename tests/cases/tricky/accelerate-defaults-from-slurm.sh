#!/bin/bash
# Tricky: accelerate's --num_processes is the total of both machines, not of one.
#SBATCH --nodes=2 --ntasks-per-node=1 --gpus-per-node=4
export M=$(scontrol show hostnames $SLURM_JOB_NODELIST | head -n 1)
srun bash -c 'accelerate launch --multi_gpu --num_machines=2 --num_processes=8 --machine_rank=$SLURM_PROCID --main_process_ip=$M --main_process_port=29500 train.py'
