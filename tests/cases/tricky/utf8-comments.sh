#!/bin/bash
# Tricky: comments in UTF-8 (Zürich, 東京, naïve) before the launch line: columns are bytes, not characters.
#SBATCH --nodes=1 --ntasks=1 --gpus-per-node=2
NOTE="größer – schneller"   # ← an arrow
torchrun --standalone --nproc_per_node=2 train.py --note "$NOTE" # fertig ✓
