#!/bin/bash
#SBATCH --nodes=2 --ntasks-per-node=1 --cpus-per-task=8 --gpus-per-node=4
srun apptainer exec --nv --cleanenv i.sif torchrun --rdzv-backend=c10d --rdzv-endpoint=$(hostname):29500 --nnodes=2 --nproc_per_node=4 --node_rank=$SLURM_NODEID --master_addr=$(hostname) train.py
