#!/bin/bash -l
#PBS -l select=2
#PBS -l walltime=00:30:00
#PBS -l filesystems=home:flare
#PBS -q debug
#PBS -A Aurora_x
#PBS -N vit
#PBS -j oe
module load frameworks
cd $PBS_O_WORKDIR
export CCL_PROCESS_LAUNCHER=pmix CCL_ATL_TRANSPORT=ofi
export FI_PROVIDER=psm3
export CCL_LOG_LEVEL=error
export MASTER_ADDR=$(head -n1 $PBS_NODEFILE) MASTER_PORT=2345
mpiexec -n 24 -ppn 12 --cpu-bind depth -d 8 python main.py
