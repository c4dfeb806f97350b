#!/bin/bash
#PBS -A AlphaTrain
#PBS -q preemptable
#PBS -l select=3
#PBS -l place=scatter
#PBS -l walltime=06:00:00
#PBS -l filesystems=home:eagle
#PBS -r y

cd $PBS_O_WORKDIR
export NNODES=$(wc -l < $PBS_NODEFILE)
export MASTER_ADDR=$(head -n 1 $PBS_NODEFILE)
export MASTER_PORT=12399

latest=$(ls -d ckpt/step_* 2> /dev/null | sort -V | tail -1)
export RESUME=${latest:+--resume $latest}

mpiexec -n $NNODES --ppn 1 bash -c 'torchrun --nnodes=$NNODES --nproc_per_node=4 --node_rank=$PALS_NODEID \
    --master_addr=$MASTER_ADDR --master_port=$MASTER_PORT train.py $RESUME'
