#!/bin/bash
# Tricky: nothing here says what NNODES, GPUS and PORT are: qsub -v does.
# lab: MAPLE_MPI=hydra
#PBS -l select=2:ncpus=8:ngpus=2:mpiprocs=1
#PBS -l place=scatter
#PBS -l walltime=00:30:00
cd $PBS_O_WORKDIR
HEAD=$(head -1 $PBS_NODEFILE)
mpiexec -n $NNODES -ppn 1 torchrun --nnodes=$NNODES --nproc_per_node=$GPUS \
    --rdzv_backend=c10d --rdzv_id=5 --rdzv_endpoint=$HEAD:$PORT train.py
