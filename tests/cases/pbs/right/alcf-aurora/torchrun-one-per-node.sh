#!/bin/bash
#PBS -N tr-aurora
#PBS -A AlphaTrain
#PBS -q debug
#PBS -l select=2
#PBS -l walltime=00:30:00
#PBS -l filesystems=home:flare
#PBS -l place=scatter

module load frameworks
cd ${PBS_O_WORKDIR}

HEAD=$(head -n 1 ${PBS_NODEFILE})
NNODES=$(sort -u ${PBS_NODEFILE} | wc -l)
JOB=${PBS_JOBID%%.*}

mpiexec -n ${NNODES} --ppn 1 --cpu-bind none \
    torchrun --nnodes=${NNODES} --nproc-per-node=12 \
        --rdzv-id=${JOB} --rdzv-backend=c10d --rdzv-endpoint=${HEAD}:29400 \
        train.py --backend xccl
