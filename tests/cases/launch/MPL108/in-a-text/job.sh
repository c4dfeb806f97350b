#!/bin/bash
#SBATCH --nodes=2 --ntasks-per-node=1 --cpus-per-task=8 --gpus-per-node=4
cat > note.txt <<EOF
srun torchrun --nnodes=2 \ 
  --nproc-per-node=4 train.py
EOF
srun python train.py
