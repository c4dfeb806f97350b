#!/bin/bash
#PBS -N hvd
#PBS -l select=2:ncpus=48:ngpus=4
#PBS -l walltime=1:00:00
#PBS -j oe
cd $PBS_O_WORKDIR
module load openmpi/5.0.5
mpirun -np 16 python train_hvd.py
