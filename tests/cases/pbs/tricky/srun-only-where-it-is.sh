#!/bin/bash
# Tricky: srun stands here, for clusters that have it; this one takes the other branch.
# lab: MAPLE_MPI=hydra
#PBS -l select=2:ncpus=8:ngpus=2:mpiprocs=2
#PBS -l place=scatter
#PBS -l walltime=00:30:00
cd ${PBS_O_WORKDIR:-$SLURM_SUBMIT_DIR}
export MASTER_PORT=29500
if [ -n "$PBS_JOBID" ]; then
    export MASTER_ADDR=$(head -n 1 $PBS_NODEFILE)
    mpiexec -n 4 -ppn 2 bash -c 'RANK=$PMI_RANK WORLD_SIZE=$PMI_SIZE LOCAL_RANK=$MPI_LOCALRANKID python train.py'
else
    export MASTER_ADDR=$(scontrol show hostnames $SLURM_JOB_NODELIST | head -n 1)
    srun bash -c 'RANK=$SLURM_PROCID WORLD_SIZE=$SLURM_NTASKS LOCAL_RANK=$SLURM_LOCALID python train.py'
fi
