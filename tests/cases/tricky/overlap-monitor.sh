#!/bin/bash
# Tricky: a monitor step overlaps the training in the background and takes no rank.
#SBATCH --nodes=2 --ntasks-per-node=1 --gpus-per-node=2
srun --overlap -N2 -n2 bash -c 'hostname > monitor.$SLURM_PROCID.log; sleep 0.2' &
MONITOR=$!
HEAD=$(scontrol show hostnames $SLURM_JOB_NODELIST | head -n 1)
srun --overlap torchrun --nnodes=2 --nproc_per_node=2 --rdzv_id=1 --rdzv_backend=c10d --rdzv_endpoint=$HEAD:29500 train.py
wait $MONITOR
