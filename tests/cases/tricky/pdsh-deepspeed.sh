#!/bin/bash
# Tricky: deepspeed's own runner reaches the other nodes by ssh: one call on the first node is right.
#SBATCH --nodes=2 --ntasks-per-node=1 --gpus-per-node=2
# lab: no (no ssh between its nodes)
scontrol show hostnames $SLURM_JOB_NODELIST | sed 's/$/ slots=2/' > hostfile
deepspeed --hostfile hostfile --num_nodes 2 --num_gpus 2 train.py
