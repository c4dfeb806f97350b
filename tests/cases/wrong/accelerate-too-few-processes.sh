#!/bin/bash
# Wrong: --num_processes is the total: 3 over two machines leaves one process a machine.
#SBATCH --nodes=2 --ntasks-per-node=1 --gpus-per-node=4
export HEAD=$(scontrol show hostnames "$SLURM_JOB_NODELIST" | head -n 1)
srun bash -c 'accelerate launch --multi_gpu --num_machines 2 --num_processes 3 --machine_rank $SLURM_NODEID --main_process_ip $HEAD --main_process_port 29500 train.py'
