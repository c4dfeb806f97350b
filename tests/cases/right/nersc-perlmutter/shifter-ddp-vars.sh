#!/bin/bash
#SBATCH -C gpu
#SBATCH -A ntrain4
#SBATCH -q regular
#SBATCH --ntasks-per-node 4
#SBATCH --cpus-per-task 32
#SBATCH --gpus-per-node 4
#SBATCH --time=01:00:00
#SBATCH -J vit-era5
#SBATCH --nodes=1

DATADIR=/pscratch/data
LOGDIR=${SCRATCH:-/tmp}/logs
mkdir -p ${LOGDIR}
args="${@}"

cat > export_DDP_vars.$SLURM_JOB_ID.sh <<'VARS'
export RANK=$SLURM_PROCID
export WORLD_RANK=$SLURM_PROCID
export LOCAL_RANK=$SLURM_LOCALID
export WORLD_SIZE=$SLURM_NTASKS
export MASTER_PORT=29500
VARS

export MASTER_ADDR=$(hostname)
srun -u shifter --image=nersc/pytorch:25.02.01 --module=gpu,nccl-plugin bash -c "
    source export_DDP_vars.$SLURM_JOB_ID.sh
    python train.py ${args}
    "
