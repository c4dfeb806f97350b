#!/bin/bash
#PBS -A AlphaTrain
#PBS -q debug
#PBS -l select=1:system=polaris
#PBS -l walltime=00:30:00
#PBS -l filesystems=home:eagle

cd $PBS_O_WORKDIR
python -m torch.distributed.launch --nproc_per_node=4 --master_port=29999 --use_env main.py --batch 64
