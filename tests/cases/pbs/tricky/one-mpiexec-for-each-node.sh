#!/bin/bash
# Tricky: mpiexec -n 1, twice, in the background: each for another node, with a node rank of its own.
# site: alcf-polaris
#PBS -A AlphaTrain
#PBS -q debug
#PBS -l select=2
#PBS -l walltime=00:30:00
#PBS -l filesystems=home:eagle
cd $PBS_O_WORKDIR
mapfile -t hosts < $PBS_NODEFILE
for i in 0 1; do
    mpiexec -n 1 --ppn 1 --hosts ${hosts[$i]} --cpu-bind none \
        torchrun --nnodes=2 --node_rank=$i --nproc_per_node=4 --master_addr=${hosts[0]} --master_port=29500 train.py &
done
wait
