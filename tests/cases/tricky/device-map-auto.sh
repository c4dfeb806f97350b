#!/bin/bash
# Tricky: one process, four GPUs: the model is spread by device_map="auto".
#SBATCH --nodes=1 --ntasks=1 --gpus-per-node=4
python inference.py --device_map auto
