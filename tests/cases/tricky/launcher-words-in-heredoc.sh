#!/bin/bash
# Tricky: a here-document that is only printed, with launch lines in it.
#SBATCH --nodes=1 --ntasks=1 --gpus-per-node=1
cat <<'HELP'
Usage:
  srun torchrun --nnodes=4 --nproc_per_node=8 --node_rank=0 train.py
  MASTER_ADDR=localhost srun -n 64 python train.py
HELP
python train_single.py
