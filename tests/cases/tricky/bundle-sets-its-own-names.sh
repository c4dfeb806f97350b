#!/bin/bash
# Tricky: the bundle of an OCI container brings NODE and MASTER.
# lab: no (no container runtime)
#SBATCH -N 4 --ntasks-per-node=1 --gpus-per-node=8 --exclusive
srun --container=/bundle bash -c 'torchrun --nnodes=4 --nproc-per-node=8 --node-rank=$NODE --master-addr=$MASTER train.py'
