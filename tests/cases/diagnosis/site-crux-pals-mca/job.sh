#!/bin/bash -l
#PBS -l select=2:system=polaris,walltime=0:30:00,filesystems=home:eagle
#PBS -q debug
#PBS -A datascience
#PBS -N dlio
#PBS -j oe
cd $PBS_O_WORKDIR
module use /soft/modulefiles; module load conda; conda activate
export MASTER_ADDR=$(head -n1 $PBS_NODEFILE) MASTER_PORT=29511
mpiexec --mca btl ^openib -n 8 --ppn 4 python main.py
