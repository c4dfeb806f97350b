#!/bin/bash
#PBS -N zero
#PBS -l select=2:ncpus=32:ngpus=4:mpiprocs=1
#PBS -l walltime=02:00:00
#PBS -j oe
cd $PBS_O_WORKDIR
module load anaconda3/2023.09
mpiexec -n 2 -ppn 1 deepspeed --no_ssh --node_rank=$PMI_RANK train.py
