#!/bin/bash
#PBS -q normal
#PBS -j oe
#PBS -l select=1:ncpus=64:ngpus=4:mem=440gb
#PBS -l walltime=24:00:00
#PBS -P personal

cd ${PBS_O_WORKDIR}
module load pytorch/2.4
export NCCL_DEBUG=WARN
torchrun --nproc_per_node=4 ./train.py --config configs/vae.yaml
