#!/bin/bash
#SBATCH -A m4012_g -C gpu -q debug -N 2 --ntasks-per-node=1 --gpus-per-node=4 -t 00:20:00
git log -1 --oneline
cat /etc/opensm/partitions.conf
ls /sys/class/infiniband
mkdir logs
module load pytorch/2.3.1
export NCCL_DEBUG=INFO
export NCCL_SOCKET_IFNAME=ib0
export MASTER_ADDR=$(scontrol show hostnames $SLURM_JOB_NODELIST | head -n1)
export MASTER_PORT=29500
srun bash -c 'RANK=$SLURM_PROCID LOCAL_RANK=$SLURM_LOCALID WORLD_SIZE=$SLURM_NTASKS python t.py'
