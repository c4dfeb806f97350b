#!/bin/bash
# Tricky: '"'"' and "'…'" quoting around the variables of the task shell.
#SBATCH --nodes=2 --ntasks-per-node=1 --gpus-per-node=2
export M=$(scontrol show hostnames $SLURM_JOB_NODELIST | head -n 1)
srun bash -c 'torchrun --nnodes='"$SLURM_NNODES"' --nproc_per_node=2 --node_rank=$SLURM_NODEID --master_addr='$M' --master_port=29500 train.py --title "it'"'"'s fine"'
