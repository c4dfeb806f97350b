#!/bin/bash
#PBS -q sg
#PBS -l select=2:ncpus=8:ngpus=4
#PBS -l place=scatter
#PBS -l walltime=10:00:00
#PBS -W group_list=lab42

MASTER_ADDR=$(head -n 1 $PBS_NODEFILE)
NODES=$(uniq $PBS_NODEFILE)
NNODES=$(echo "$NODES" | wc -l)
node_rank=0
pids=()
for node in $NODES; do
    pbs_tmrsh $node $PBS_O_WORKDIR/on_node.sh $node_rank $NNODES $MASTER_ADDR $PBS_O_WORKDIR &
    pids+=($!)
    node_rank=$((node_rank + 1))
done
code=0
for pid in "${pids[@]}"; do
    wait $pid || code=$?
done
exit $code
