#!/bin/bash
#PBS -A AlphaTrain
#PBS -q debug
#PBS -l select=2
#PBS -l walltime=00:30:00
#PBS -l filesystems=flare
cd $PBS_O_WORKDIR
sed 's/$/ slots=12/' $PBS_NODEFILE > hostfile
HEAD=$(head -n 1 $PBS_NODEFILE)
mpiexec -n 2 --ppn 1 bash -c 'exec deepspeed --node_rank="$PALS_NODEID" "$@"' bash --hostfile=hostfile --no_ssh --master_addr=$HEAD --master_port=29500 train.py
