#!/bin/bash
# Tricky: counts come as a function's arguments.
# site: alcf-aurora
#PBS -A AlphaTrain
#PBS -q debug
#PBS -l select=2
#PBS -l walltime=00:30:00
#PBS -l filesystems=flare
launch() {
    local nodes=$1 each=$2
    shift 2
    export WORLD_SIZE=$((nodes * each))
    mpiexec -n $WORLD_SIZE --ppn $each --cpu-bind none bash -c 'RANK=$PALS_RANKID LOCAL_RANK=$PALS_LOCAL_RANKID "$@"' _ "$@"
}
cd $PBS_O_WORKDIR
export MASTER_ADDR=$(head -n 1 $PBS_NODEFILE) MASTER_PORT=29500
launch 2 10 python train.py --lr 1e-4
