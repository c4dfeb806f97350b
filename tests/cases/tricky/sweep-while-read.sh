#!/bin/bash
# Tricky: hyper-parameters from a here-document, one run a line.
#SBATCH --nodes=1 --ntasks=1 --gpus-per-node=1
while read -r lr wd; do
    python train_single.py --lr "$lr" --wd "$wd" < /dev/null
done <<'TABLE'
1e-3 0.1
1e-4 0.01
TABLE
