#!/bin/bash
#SBATCH --job-name=multinode-example
#SBATCH --account=bbka-delta-gpu
#SBATCH --partition=gpuA100x4
#SBATCH --nodes=2
#SBATCH --ntasks-per-node=1
#SBATCH --gpus-per-node=4
#SBATCH --cpus-per-task=8
#SBATCH --mem=100g
#SBATCH --time=00:30:00

nodes=( $( scontrol show hostnames $SLURM_JOB_NODELIST ) )
head_node=${nodes[0]}
head_node_ip=$(srun --nodes=1 --ntasks=1 -w "$head_node" hostname --ip-address)

echo Node IP: $head_node_ip
export LOGLEVEL=INFO

srun torchrun --nnodes ${SLURM_NNODES} \
    --nproc_per_node ${SLURM_GPUS_PER_NODE} \
    --rdzv_id $RANDOM --rdzv_backend c10d \
    --rdzv_endpoint="$head_node_ip:29500" \
    multinode.py 20 5
