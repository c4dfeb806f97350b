#!/bin/bash
#PBS -N staged
#PBS -A AlphaTrain
#PBS -q capacity
#PBS -l select=2
#PBS -l walltime=12:00:00
#PBS -l filesystems=home:eagle

set -euo pipefail

log() { printf '%s %s\n' "$(date +%T)" "$*"; }

setup() {
    cd "$PBS_O_WORKDIR"
    export MASTER_ADDR MASTER_PORT WORLD_SIZE
    MASTER_ADDR=$(head -n 1 "$PBS_NODEFILE")
    MASTER_PORT=29500
    PPN=4
    WORLD_SIZE=$(( $(wc -l < "$PBS_NODEFILE") * PPN ))
}

train() {
    log "training on $WORLD_SIZE ranks"
    mpiexec -n "$WORLD_SIZE" --ppn "$PPN" --depth=8 --cpu-bind depth bash -c \
        'RANK=$PMI_RANK LOCAL_RANK=$PMI_LOCAL_RANK exec python train.py "$@"' bash "$@"
}

setup
log "preparing"
python prepare_data.py --out data
train --stage 1 --epochs 1
train --stage 2 --epochs 3
log "done"
