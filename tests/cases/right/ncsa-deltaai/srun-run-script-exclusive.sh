#!/bin/bash
#SBATCH -A bdaa-dtai-gh
#SBATCH -p ghx4
#SBATCH --nodes=2
#SBATCH --ntasks-per-node=1
#SBATCH --gpus-per-node=4
#SBATCH --gpu-bind=none
#SBATCH --mem=0
#SBATCH --exclusive
#SBATCH -t 02:00:00

export MASTER_ADDR=$(scontrol show hostnames "$SLURM_JOB_NODELIST" | head -n 1)
export MASTER_PORT=29500

cat > run.$SLURM_JOB_ID.sh <<'EOS'
set -e
export NODE_RANK=$SLURM_PROCID
torchrun --nnodes 2 --nproc_per_node 4 --node_rank $NODE_RANK --master_addr $MASTER_ADDR --master_port $MASTER_PORT train.py
EOS
srun --kill-on-bad-exit=1 bash run.$SLURM_JOB_ID.sh
