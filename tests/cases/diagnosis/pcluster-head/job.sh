#!/bin/bash
#SBATCH --nodes=2
#SBATCH --ntasks-per-node=1
#SBATCH --gpus-per-node=8
export MASTER_ADDR_JOB=$SLURM_SUBMIT_HOST
export MASTER_PORT_JOB=12234
srun bash -c 'torchrun --nproc_per_node=8 --nnodes=$SLURM_JOB_NUM_NODES --node_rank=$SLURM_NODEID --master_addr=$MASTER_ADDR_JOB --master_port=$MASTER_PORT_JOB $(which fairseq-train) /lustre/data-bin'
