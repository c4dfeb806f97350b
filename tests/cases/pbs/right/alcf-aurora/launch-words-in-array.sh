#!/bin/bash
#PBS -A AlphaTrain
#PBS -l select=2
#PBS -l place=scatter
#PBS -l walltime=1:00:00
#PBS -l filesystems=home:flare
#PBS -q debug
#PBS -N agpt-7b
# Written like the long launchers of Megatron: everything in variables, put together at the end.

cd $PBS_O_WORKDIR

HERE=$(pwd)
DATA=${DATA:-/lus/flare/projects/AlphaTrain/books}
TP=${TP:-2}
PP=${PP:-1}
MICRO=${MICRO:-1}

nhosts=$(wc -l < "${PBS_NODEFILE}")
ngpu_per_host=12
ngpus=$(( nhosts * ngpu_per_host ))
dp=$(( ngpus / TP / PP ))
gbs=$(( dp * MICRO * 4 ))
echo "TP=$TP PP=$PP DP=$dp GBS=$gbs on $ngpus"

export MASTER_ADDR=$(head -1 "$PBS_NODEFILE")
export MASTER_PORT=29500
export WORLD_SIZE=$ngpus

launch=(mpiexec --envall --line-buffer --np "$ngpus" --ppn "$ngpu_per_host" --hostfile "$PBS_NODEFILE")
launch+=(--cpu-bind "list:1-8:9-16:17-24:25-32:33-40:41-48:53-60:61-68:69-76:77-84:85-92:93-100")
args=(--tensor-model-parallel-size "$TP" --pipeline-model-parallel-size "$PP"
      --micro-batch-size "$MICRO" --global-batch-size "$gbs" --data-path "$DATA")

"${launch[@]}" bash "$HERE/rank.sh" python3 -Wignore pretrain_gpt.py "${args[@]}"
