#!/bin/bash
# Tricky: Slurm's variables are read, and what is taken when they are not there is right.
# site: alcf-polaris
#PBS -A AlphaTrain
#PBS -q debug
#PBS -l select=2
#PBS -l walltime=00:30:00
#PBS -l filesystems=home:eagle
cd ${SLURM_SUBMIT_DIR:-$PBS_O_WORKDIR}
NNODES=${SLURM_NNODES:-$(wc -l < $PBS_NODEFILE)}
HEAD=${SLURM_LAUNCH_NODE:-$(head -n 1 $PBS_NODEFILE)}
mpiexec -n $NNODES --ppn 1 torchrun --nnodes=$NNODES --nproc_per_node=4 \
    --rdzv_backend=c10d --rdzv_id=${SLURM_JOB_ID:-1} --rdzv_endpoint=$HEAD:29500 train.py
