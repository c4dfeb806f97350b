#!/bin/bash
# Tricky: python reads a here-document that speaks of srun and torchrun.
#SBATCH --nodes=1 --ntasks=1 --gpus-per-node=2
python3 - <<'PY' > words.txt
command = ["srun", "torchrun", "--nproc_per_node=8"]
print(" ".join(command))
PY
torchrun --standalone --nproc_per_node=2 train.py
