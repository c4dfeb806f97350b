#!/bin/bash
#SBATCH --account=bbka-delta-gpu
#SBATCH --partition=gpuA100x4
#SBATCH --nodes=4
#SBATCH --ntasks-per-node=1
#SBATCH --gpus-per-node=4
#SBATCH --mem=200g
#SBATCH --time=04:00:00

export HEAD_NODE=$(scontrol show hostnames $SLURM_JOB_NODELIST | head -n 1)
export N=$(( SLURM_NNODES * 4 ))

srun bash -c 'accelerate launch \
    --multi_gpu \
    --num_processes $N \
    --num_machines $SLURM_NNODES \
    --machine_rank $SLURM_NODEID \
    --main_process_ip $HEAD_NODE \
    --main_process_port 29500 \
    train.py --with_tracking'
