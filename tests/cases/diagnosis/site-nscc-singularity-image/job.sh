#!/bin/bash
#PBS -l select=1:ncpus=16:ngpus=1:mem=110gb
#PBS -l walltime=4:00:00
#PBS -P 11002233
#PBS -q normal
#PBS -j oe
cd $PBS_O_WORKDIR || exit $?
module load singularity
singularity exec --nv /app/apps/containers/pytorch/pytorch_24.09-py3.sif python train.py
