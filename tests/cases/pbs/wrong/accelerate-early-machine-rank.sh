#!/bin/bash
# wrong: the machine rank is worked out here, once, and is 0 for both.
# site: alcf-polaris
#PBS -A AlphaTrain
#PBS -q debug
#PBS -l select=2
#PBS -l walltime=00:30:00
#PBS -l filesystems=home:eagle
cd $PBS_O_WORKDIR
HEAD=$(head -n 1 $PBS_NODEFILE)
mpiexec -n 2 --ppn 1 accelerate launch --multi_gpu --num_machines 2 --num_processes 8 --machine_rank ${PALS_NODEID:-0} \
    --main_process_ip $HEAD --main_process_port 29500 train.py
