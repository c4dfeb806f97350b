#!/bin/bash
#SBATCH --time 0:30:0
#SBATCH --nodes 2
#SBATCH --gpus-per-node 4
#SBATCH --ntasks-per-node 4
#SBATCH --constraint=a100_80
module purge
module load Python NCCL
export NCCL_SOCKET_IFNAME=ib0
export MASTER_PORT=$((16384 + $SLURM_JOB_ID % 16384))
export MASTER_ADDR=$(scontrol show hostnames "$SLURM_JOB_NODELIST" | head -n 1)
vllm serve meta-llama/Llama-3.1-70B --tensor-parallel-size 4 --pipeline-parallel-size 2 --distributed-executor-backend ray
