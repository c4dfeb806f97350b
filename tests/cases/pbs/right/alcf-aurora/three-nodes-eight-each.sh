#!/bin/bash
#PBS -l select=3
#PBS -l place=scatter
#PBS -l walltime=00:30:00
#PBS -l filesystems=flare
#PBS -q capacity
#PBS -A AlphaTrain
#PBS -M someone@example.org
#PBS -m abe

cd $PBS_O_WORKDIR
export MASTER_ADDR=$(head -n 1 $PBS_NODEFILE)
export MASTER_PORT=6000
nodes=$(sort -u $PBS_NODEFILE | wc -l)
ranks=8                                   # sequence length leaves room for eight
export WORLD_SIZE=$((nodes * ranks))

run() {
    mpiexec --np $WORLD_SIZE --ppn $ranks --hostfile $PBS_NODEFILE --cpu-bind none "$@"
}

run bash -c 'RANK=$PALS_RANKID LOCAL_RANK=$PALS_LOCAL_RANKID python3 -u pretrain.py --tp 4 --dp 6'
