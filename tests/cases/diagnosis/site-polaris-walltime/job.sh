#!/bin/bash -l
#PBS -N gpt
#PBS -l select=2:system=polaris
#PBS -l place=scatter
#PBS -l walltime=1:00:00
#PBS -l filesystems=home:eagle
#PBS -q debug
#PBS -A datascience
#PBS -j oe
cd $PBS_O_WORKDIR
module use /soft/modulefiles; module load conda; conda activate base
NNODES=$(wc -l < $PBS_NODEFILE)
export MASTER_ADDR=$(head -n1 $PBS_NODEFILE) MASTER_PORT=29501
echo "NUM_OF_NODES= $NNODES TOTAL_NUM_RANKS= $((NNODES*4)) RANKS_PER_NODE= 4"
mpiexec -n $((NNODES*4)) --ppn 4 --depth=8 --cpu-bind depth python train.py
