#!/bin/bash
#PBS -l select=4:ncpus=24:mpiprocs=24
#PBS -l walltime=01:00:00
module load mpi/sgi-mpt/2.17
mpirun -map-by core --mca btl ^vader -np 96 $GEOSBIN/GEOSldas.x
