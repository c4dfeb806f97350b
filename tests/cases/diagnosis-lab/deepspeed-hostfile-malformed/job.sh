#!/bin/bash
#SBATCH --nodes=2
#SBATCH --ntasks-per-node=1
#SBATCH --gpus-per-node=2
#SBATCH --time=10:00
scontrol show hostnames $SLURM_JOB_NODELIST > hostfile
deepspeed --hostfile=hostfile --no_ssh_check train.py
