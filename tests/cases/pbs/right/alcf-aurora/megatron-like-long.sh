#!/bin/bash --login
#PBS -N agpt-7b
#PBS -A AlphaTrain
#PBS -q debug-scaling
#PBS -l select=3
#PBS -l place=scatter
#PBS -l walltime=01:00:00
#PBS -l filesystems=home:flare
#PBS -k doe
#PBS -j oe
#PBS -M someone@example.org
#PBS -m n
#
# ---------------------------------------------------------------------------
# Pretraining, one rank for each of eight tiles a node (the other four serve
# the evaluation). History:
#   - 1 node, 12 ranks: runs out of memory with 8k tokens
#   - 2 nodes, 12 ranks: the same, later
#   - 3 nodes, 8 ranks: good
# Old line, kept for the record:
#   mpiexec -n 36 --ppn 12 torchrun --nproc_per_node=12 pretrain_gpt.py
# ---------------------------------------------------------------------------

TSTAMP=$(date "+%Y-%m-%d-%H%M%S")
if [[ -n "${PBS_O_WORKDIR:-}" ]]; then
    cd "${PBS_O_WORKDIR}" || exit
fi

function die() {
    printf '[%s] %s\n' "$(date +%T)" "$*" 1>&2
    exit 1
}

setup_python() {
    local venv="$PWD/venvs/aurora"
    module use /soft/modulefiles
    module load frameworks
    if [ -f "$venv/bin/activate" ]; then
        source "$venv/bin/activate"
    else
        echo "no environment of our own, the module's will do"
    fi
}

setup_ccl() {
    export CCL_PROCESS_LAUNCHER=pmix
    export CCL_ATL_TRANSPORT=mpi
    export CCL_KVS_MODE=mpi
    export CCL_KVS_CONNECTION_TIMEOUT=600
    export CCL_ZE_CACHE_OPEN_IPC_HANDLES_THRESHOLD=1024
    export FI_MR_CACHE_MONITOR=userfaultfd
    unset NCCL_DEBUG NCCL_SOCKET_IFNAME
}

setup_nodes() {
    [ -s "$PBS_NODEFILE" ] || die "no node file"
    HOSTFILE="$PWD/hostfile-${PBS_JOBID%%.*}"
    sort -u "$PBS_NODEFILE" > "$HOSTFILE"
    NHOSTS=$(wc -l < "$HOSTFILE")
    NGPU_PER_HOST=${NGPU_PER_HOST:-8}
    NGPUS=$((NHOSTS * NGPU_PER_HOST))
    export NHOSTS NGPU_PER_HOST NGPUS HOSTFILE
    export MASTER_ADDR=$(head -n 1 "$HOSTFILE")
    export MASTER_PORT=$((20000 + ${PBS_JOBID%%.*} % 1000))
    export WORLD_SIZE=$NGPUS
}

setup_python
setup_ccl
setup_nodes

case "$NGPU_PER_HOST" in
    12) CPU_BIND="list:1-8:9-16:17-24:25-32:33-40:41-48:53-60:61-68:69-76:77-84:85-92:93-100" ;;
    *)  CPU_BIND="depth" ;;
esac

MODEL_ARGS="--num-layers 32 --hidden-size 4096 --num-attention-heads 32 --seq-length 8192"
DATA_ARGS="--data-path data/books --split 990,10,0"
OUT=logs/$TSTAMP
mkdir -p "$OUT"

cat > "$OUT/rank.sh" <<'RANK'
#!/bin/bash
export RANK=${PALS_RANKID:?}
export LOCAL_RANK=${PALS_LOCAL_RANKID:?}
exec "$@"
RANK
chmod +x "$OUT/rank.sh"

echo "launching $NGPUS ranks on $NHOSTS hosts, first is $MASTER_ADDR"
mpiexec --envall --line-buffer -n "$NGPUS" --ppn "$NGPU_PER_HOST" --hostfile "$HOSTFILE" --cpu-bind "$CPU_BIND" --depth 8 \
    "$OUT/rank.sh" python3 -Wignore pretrain_gpt.py $MODEL_ARGS $DATA_ARGS --backend xccl \
    2>&1 | tee "$OUT/train.txt"
exit "${PIPESTATUS[0]}"
