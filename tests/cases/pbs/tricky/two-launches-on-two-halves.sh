#!/bin/bash
# Tricky: two trainings at once on one port: each has two nodes of its own.
# lab: MAPLE_MPI=hydra
#PBS -l select=4:ncpus=8:ngpus=2
#PBS -l place=scatter
#PBS -l walltime=00:30:00
cd $PBS_O_WORKDIR
head -n 2 $PBS_NODEFILE > first
tail -n 2 $PBS_NODEFILE > second
for half in first second; do
    MASTER_ADDR=$(head -n 1 $half) MASTER_PORT=29500 mpiexec -f $half -n 4 -ppn 2 \
        bash -c "RANK=\$PMI_RANK WORLD_SIZE=\$PMI_SIZE LOCAL_RANK=\$MPI_LOCALRANKID python train.py --run $half" &
done
wait
