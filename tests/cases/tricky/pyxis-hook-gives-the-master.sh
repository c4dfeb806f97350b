#!/bin/bash
# Tricky: the hook of enroot sets MASTER_ADDR and MASTER_PORT in images of PyTorch.
# lab: no (no pyxis there)
#SBATCH -N 4 --ntasks-per-node=1 --gpus-per-node=8 --exclusive
srun --container-image nvcr.io/nvidia/pytorch:24.06-py3 bash -c 'torchrun --nnodes=$SLURM_NNODES --nproc-per-node=8 --node-rank=$SLURM_NODEID --master-addr=$MASTER_ADDR --master-port=$MASTER_PORT train.py'
