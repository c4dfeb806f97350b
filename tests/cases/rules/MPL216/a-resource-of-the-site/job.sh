#!/bin/bash
#PBS -l select=1:ncpus=4:gpu_id=a100:scratch=100gb -l software=x
cd $PBS_O_WORKDIR
mpiexec -n 8 --ppn 4 python train.py
