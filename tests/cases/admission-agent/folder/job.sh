#!/bin/bash
cat <<EOF
--epochs 55
EOF
# --seed 8
srun python train.py --config cfg.yaml --ckpt-root out/ck --save-every 100
