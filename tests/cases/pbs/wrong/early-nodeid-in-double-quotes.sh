#!/bin/bash
# wrong: PALS_NODEID in double quotes is expanded by this shell, which has none: no node rank at all.
# site: alcf-polaris
#PBS -A AlphaTrain
#PBS -q debug
#PBS -l select=2
#PBS -l walltime=00:30:00
#PBS -l filesystems=home:eagle
cd $PBS_O_WORKDIR
HEAD=$(head -n 1 $PBS_NODEFILE)
mpiexec -n 2 --ppn 1 bash -c "torchrun --nnodes=2 --nproc_per_node=4 --node_rank=$PALS_NODEID --master_addr=$HEAD --master_port=29500 train.py"
