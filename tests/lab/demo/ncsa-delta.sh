#!/bin/bash
#SBATCH --job-name=gpt2-owt
#SBATCH --account=bbxz-delta-gpu
#SBATCH --partition=gpuA100x4
#SBATCH --nodes=4
#SBATCH --ntasks-per-node=4
#SBATCH --cpus-per-task=16
#SBATCH --gpus-per-node=4
#SBATCH --mem=240G
#SBATCH --time=12:00:00
#SBATCH --output=gpt2-%j.log

set -eo pipefail

module purge
module load gcc/11.4.0 cuda/12.4 anaconda3_gpu
eval "$(conda shell.bash hook)"
conda activate gpt2

export OMP_NUM_THREADS=$SLURM_CPUS_PER_TASK
export NCCL_DEBUG=WARN
export NCCL_SOCKET_IFNAME=hsn
export HF_HOME=$PWD/hf-cache
export WANDB_MODE=offline

GPUS_PER_NODE=4
export MASTER_ADDR=localhost
export MASTER_PORT=29500

echo "nodes: $SLURM_JOB_NODELIST, master: $MASTER_ADDR:$MASTER_PORT"

srun torchrun \
    --nnodes=$SLURM_JOB_NUM_NODES --nproc_per_node=$GPUS_PER_NODE \
    --master_addr=$MASTER_ADDR --master_port=$MASTER_PORT \
    --node_rank=$SLURM_NODEID train.py --config gpt2-medium.yaml
