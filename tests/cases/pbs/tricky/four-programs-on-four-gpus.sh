#!/bin/bash
# Tricky: one visible GPU and four launches at once: each of them has another one, and a world of its own.
# site: alcf-polaris
#PBS -A AlphaTrain
#PBS -q debug
#PBS -l select=1
#PBS -l walltime=00:30:00
#PBS -l filesystems=home:eagle
cd $PBS_O_WORKDIR
for gpu in 0 1 2 3; do
    CUDA_VISIBLE_DEVICES=$gpu MASTER_PORT=$((29500 + gpu)) MASTER_ADDR=localhost mpiexec -n 1 --ppn 1 --cpu-bind list:$((gpu * 8)) \
        bash -c 'RANK=0 LOCAL_RANK=0 WORLD_SIZE=1 python train.py --member $CUDA_VISIBLE_DEVICES' &
done
wait
