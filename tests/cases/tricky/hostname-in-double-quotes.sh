#!/bin/bash
# Tricky: bash -c in double quotes: $(hostname) is expanded in the batch shell, \$SLURM_NODEID in the task.
#SBATCH --nodes=2 --ntasks-per-node=1 --gpus-per-node=4
srun bash -c "torchrun --nnodes=2 --nproc_per_node=4 --node_rank=\$SLURM_NODEID --master_addr=$(hostname) --master_port=29500 train.py"
