#!/bin/bash
#PBS -N hpl
#PBS -l select=2:ncpus=40:mpiprocs=4:ngpus=4
#PBS -l walltime=1:00:00
#PBS -j oe
cd $PBS_O_WORKDIR
module load intel-mpi/2021.13
export FI_PROVIDER=psm
mpirun -np 8 python train_hvd.py
