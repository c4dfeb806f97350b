#!/bin/bash
#PBS -A AlphaTrain
#PBS -q debug
#PBS -l select=1,walltime=00:30:00,filesystems=flare

cd "${PBS_O_WORKDIR}"
module load frameworks
export ZE_FLAT_DEVICE_HIERARCHY=FLAT
export OMP_NUM_THREADS=8
torchrun --standalone --nproc_per_node=12 finetune.py --backend xccl --dtype bf16
