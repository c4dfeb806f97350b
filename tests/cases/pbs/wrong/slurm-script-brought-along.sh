#!/bin/bash
# wrong: a Slurm script with new directives: scontrol and srun are not there.
# site: alcf-aurora
#PBS -A AlphaTrain
#PBS -q debug
#PBS -l select=2
#PBS -l walltime=00:30:00
#PBS -l filesystems=flare
cd $SLURM_SUBMIT_DIR
export MASTER_ADDR=$(scontrol show hostnames "$SLURM_JOB_NODELIST" | head -n 1)
export MASTER_PORT=29500 WORLD_SIZE=$SLURM_NTASKS
srun bash -c 'RANK=$SLURM_PROCID LOCAL_RANK=$SLURM_LOCALID python train.py'
