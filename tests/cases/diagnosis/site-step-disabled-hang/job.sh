#!/bin/bash
#SBATCH -N2 --ntasks-per-node=1 --gpus-per-node=4 -c 32 -t 6:00:00
echo starting monitor
srun bash -c 'nvidia-smi dmon -s pucm -d 30 > gpu_$SLURM_NODEID.log' &
sleep 5
echo starting training
export MASTER_ADDR=$(scontrol show hostnames $SLURM_JOB_NODELIST | head -n1)
srun bash -c 'torchrun --nnodes 2 --nproc_per_node 4 --rdzv_id $SLURM_JOB_ID --rdzv_backend c10d --rdzv_endpoint $MASTER_ADDR:29512 train.py'
