#!/bin/bash
# Tricky: the Open MPI is named by its folder, and runs in place of the own mpirun of the site.
# lab: no (its mpiexec is another)
# site: alcf-polaris
#PBS -A AlphaTrain
#PBS -q debug
#PBS -l select=2
#PBS -l walltime=00:30:00
#PBS -l filesystems=home:eagle
#PBS -l place=scatter
cd $PBS_O_WORKDIR
/soft/openmpi/bin/mpirun -np 8 --map-by ppr:4:node -x PATH bash -c 'RANK=$OMPI_COMM_WORLD_RANK WORLD_SIZE=8 MASTER_ADDR='$(hostname)' python train.py'
