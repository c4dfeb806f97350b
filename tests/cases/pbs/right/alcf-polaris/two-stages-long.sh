#!/bin/bash -l
#PBS -l select=2:system=polaris
#PBS -l place=scatter
#PBS -l walltime=01:00:00
#PBS -l filesystems=home:eagle
#PBS -q debug-scaling
#PBS -A AlphaTrain
#PBS -N sft_then_dpo
#PBS -o logs/sft.out
#PBS -e logs/sft.err

################################################################################
# 1. environment                                                               #
################################################################################
export HTTP_PROXY="http://proxy.alcf.anl.gov:3128"
export HTTPS_PROXY="http://proxy.alcf.anl.gov:3128"
export http_proxy="http://proxy.alcf.anl.gov:3128"
export https_proxy="http://proxy.alcf.anl.gov:3128"
export no_proxy="admin,polaris-adminvm-01,localhost,*.cm.polaris.alcf.anl.gov,polaris-*"

module use /soft/modulefiles
module load conda
conda activate base

cd $PBS_O_WORKDIR
export PYTHONPATH=$PWD/src:${PYTHONPATH:-}
export HF_HOME=/eagle/AlphaTrain/hf WANDB_MODE=offline
# NCCL_NET and friends made it hang once; left to the default on purpose
unset NCCL_NET NCCL_NET_GDR_LEVEL NCCL_CROSS_NIC NCCL_COLLNET_ENABLE

################################################################################
# 2. shape of the job                                                          #
################################################################################
NNODES=`wc -l < $PBS_NODEFILE`
GPUS_PER_NODE=$(nvidia-smi -L | wc -l)
export WORLD=$(( NNODES * GPUS_PER_NODE ))
export HEAD=`head -n 1 $PBS_NODEFILE`
export PORT=29500
echo "== $(date) :: $NNODES nodes x $GPUS_PER_NODE, head $HEAD"

################################################################################
# 3. full fine-tuning: torchrun on each node                                   #
################################################################################
mpiexec -n $NNODES --ppn 1 --cpu-bind none \
    torchrun --nnodes=$NNODES --nproc-per-node=$GPUS_PER_NODE --max-restarts=0 \
        --rdzv-backend=c10d --rdzv-id="sft-$PBS_JOBID" --rdzv-endpoint=$HEAD:$PORT \
        src/train_sft.py --out ckpt/sft || { echo "stage one failed"; exit 1; }

################################################################################
# 4. preference training: a rank for each GPU                                  #
################################################################################
mpiexec -n $WORLD --ppn $GPUS_PER_NODE --depth 8 --cpu-bind depth bash -c '
    export MASTER_ADDR=$HEAD MASTER_PORT=$PORT
    export RANK=$PMI_RANK WORLD_SIZE=$PMI_SIZE LOCAL_RANK=$PMI_LOCAL_RANK
    python -u src/train_dpo.py --init ckpt/sft --out ckpt/dpo'

echo "== $(date) :: done"
