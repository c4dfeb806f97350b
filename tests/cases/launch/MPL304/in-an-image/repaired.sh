#!/bin/bash
#SBATCH --nodes=2 --ntasks-per-node=1 --cpus-per-task=8 --gpus-per-node=4
srun apptainer exec --nv i.sif bash -c 'exec torchrun --node_rank="$SLURM_NODEID" "$@"' bash --nnodes=2 --nproc_per_node=4 --master_addr=$(hostname) train.py
