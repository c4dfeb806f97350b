#!/bin/bash
# Tricky: torchrun and accelerate as package names of pip.
#SBATCH --nodes=1 --ntasks=1 --gpus-per-node=1
pip install --quiet torchrun-xyz "accelerate>=1" deepspeed mpirun-tools > pip.log 2>&1 || true
python train_single.py
