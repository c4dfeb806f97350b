#!/bin/bash
#SBATCH -n 4
#SBATCH --tasks-per-node=2
#SBATCH --time=12:00:00
set -x
module purge > /dev/null 2>&1
module load intelmpi
mpirun /shared/efs/mpi_samples/mpi_hello_intelmpi_2021.4.0
mpirun /shared/efs/mpi_samples/mpi_hello_openmpi_4.1.1
