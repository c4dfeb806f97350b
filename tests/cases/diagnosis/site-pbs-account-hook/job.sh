#!/bin/bash -l
#PBS -l select=1:system=polaris
#PBS -l walltime=0:10:00
#PBS -l filesystems=home
#PBS -q debug
cd $PBS_O_WORKDIR
python train.py
