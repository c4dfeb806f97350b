#!/bin/bash
# Tricky: the text is expanded in the container, where the hook has set the names.
# lab: no (no pyxis there)
#SBATCH -N 4 --ntasks-per-node=1 --gpus-per-node=8 --exclusive
read -r -d '' CMD <<'EOS'
torchrun --nnodes=$SLURM_NNODES --nproc-per-node=8 --rdzv-backend=c10d --rdzv-endpoint=$MASTER_ADDR:$MASTER_PORT train.py
EOS
srun --container-image=/img.sqsh --container-mounts=$PWD bash -c "$CMD"
