#!/bin/bash
#SBATCH -J xpu
#SBATCH -p pvc
#SBATCH -N 1
#SBATCH -n 1
#SBATCH -t 02:00:00

# PVC: 4 cards, 8 tiles, one rank per tile; the program takes the xpu device and the ccl backend
export ZE_FLAT_DEVICE_HIERARCHY=FLAT
export CCL_ATL_TRANSPORT=ofi
torchrun --standalone --nproc_per_node=8 train_xpu.py --backend ccl
