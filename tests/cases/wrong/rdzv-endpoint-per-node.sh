#!/bin/bash
# Wrong: the rendezvous is held on each node.
#SBATCH --nodes=2 --ntasks-per-node=1 --gpus-per-node=2
srun bash -c 'torchrun --nnodes=2 --nproc_per_node=2 --rdzv_id=$SLURM_JOB_ID --rdzv_backend=c10d --rdzv_endpoint=$(hostname):29500 train.py'
