#!/bin/bash
#SBATCH -A bdaa-dtai-gh
#SBATCH -p ghx4
#SBATCH -N 3
#SBATCH --ntasks-per-node=1
#SBATCH --gpus-per-node=4
#SBATCH --mem=360g
#SBATCH -t 00:30:00

GPUS_PER_NODE=4
NNODES=$SLURM_JOB_NUM_NODES
WORLD=$((GPUS_PER_NODE*NNODES))
MASTER_ADDR=$(scontrol show hostnames $SLURM_JOB_NODELIST | head -n 1)
MASTER_PORT=6000

echo "world of $WORLD"
LAUNCHER="torchrun \
    --nproc_per_node $GPUS_PER_NODE \
    --nnodes $NNODES \
    --rdzv_id ${SLURM_JOB_ID} \
    --rdzv_endpoint $MASTER_ADDR:$MASTER_PORT \
    --rdzv_backend c10d \
    --max_restarts 0 \
    --tee 3 \
    "
CMD="pretrain_gpt.py --tensor-model-parallel-size 4 --micro-batch-size 1"

srun --jobid $SLURM_JOB_ID bash -c "$LAUNCHER $CMD" 2>&1 | tee main_log.$SLURM_JOB_ID.txt
