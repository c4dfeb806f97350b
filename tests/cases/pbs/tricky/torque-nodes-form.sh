#!/bin/bash
# Tricky: no select at all: nodes=2:ppn=4 is taken too, and gives two nodes with four lines each.
# lab: MAPLE_MPI=hydra
#PBS -l nodes=2:ppn=4,walltime=00:30:00
cd $PBS_O_WORKDIR
export MASTER_ADDR=$(head -n 1 $PBS_NODEFILE) MASTER_PORT=29500
mpiexec -n 8 bash -c 'RANK=$PMI_RANK WORLD_SIZE=$PMI_SIZE python train.py --backend gloo --device=cpu'
