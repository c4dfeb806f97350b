#!/bin/bash
#PBS -A AlphaTrain
#PBS -q debug
#PBS -l select=1
#PBS -l walltime=00:10:00
#PBS -l filesystems=home

cd $PBS_O_WORKDIR
module load frameworks
python check_env.py
ZE_AFFINITY_MASK=0 python train_single.py --device xpu
