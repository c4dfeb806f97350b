#!/bin/bash
#SBATCH -N 2
#SBATCH --ntasks-per-node=1
#SBATCH --gpus-per-node=2
#SBATCH -o ds.out
scontrol show hostnames $SLURM_JOB_NODELIST | sed 's/$/ slots=2/' > hostfile
deepspeed --no_ssh_check --hostfile hostfile --master_port 29500 train.py --deepspeed ds.json
