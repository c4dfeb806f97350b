#!/bin/bash -l
#PBS -l select=2:system=polaris,place=scatter
#PBS -l walltime=0:30:00,filesystems=home:eagle
#PBS -q debug
#PBS -A datascience
#PBS -N ddp
#PBS -j oe
cd $PBS_O_WORKDIR
module use /soft/modulefiles; module load conda; conda activate
export MASTER_ADDR=$(head -n1 $PBS_NODEFILE).local
export MASTER_PORT=29501
mpiexec -n 2 --ppn 1 --cpu-bind none python ddp.py
