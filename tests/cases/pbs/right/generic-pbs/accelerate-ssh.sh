#!/bin/bash
#PBS -N acc
#PBS -l select=2:ncpus=8:ngpus=2:mpiprocs=1
#PBS -l place=scatter
#PBS -l walltime=02:00:00

cd $PBS_O_WORKDIR
mapfile -t NODES < $PBS_NODEFILE
for i in "${!NODES[@]}"; do
    ssh "${NODES[$i]}" "cd '$PBS_O_WORKDIR'; accelerate launch --multi_gpu --num_machines ${#NODES[@]} \
        --num_processes $(( ${#NODES[@]} * 2 )) --machine_rank $i --main_process_ip ${NODES[0]} \
        --main_process_port 29500 train.py" &
done
wait
