#!/bin/bash
# lab: MAPLE_MPI=hydra
#PBS -l select=3:ncpus=16:ngpus=4
#PBS -l place=scatter:excl
#PBS -l walltime=24:00:00
#PBS -q big

cd $PBS_O_WORKDIR || exit 2
uniq $PBS_NODEFILE > nodes.$PBS_JOBID
NNODES=$(wc -l < nodes.$PBS_JOBID)
HEAD=$(head -n 1 nodes.$PBS_JOBID)
mpiexec -f nodes.$PBS_JOBID -n $NNODES -ppn 1 \
    torchrun --nnodes=$NNODES --nproc_per_node=4 --rdzv_backend=c10d --rdzv_id=$PBS_JOBID --rdzv_endpoint=$HEAD:29500 train.py
rm -f nodes.$PBS_JOBID
