#!/bin/bash
#PBS -N tutorial
#PBS -P xy01
#PBS -q gpuvolta
#PBS -l select=3:ncpus=12:ngpus=4:mpiprocs=12
#PBS -l place=scatter
#PBS -l walltime=48:00:00
#PBS -j oe
#PBS -W umask=022
# Twelve lines a node in the node file: the nodes are its unique lines, and pbsdsh is asked for every twelfth.

cd ${PBS_O_WORKDIR} || exit 1
NODES=($(uniq $PBS_NODEFILE))
PER_NODE=$(grep -c "^${NODES[0]}$" $PBS_NODEFILE)
TOTAL=$(wc -l < $PBS_NODEFILE)
HEAD=${NODES[0]}
echo "${#NODES[@]} nodes, $PER_NODE lines each"

i=0
for ((line = 0; line < TOTAL; line += PER_NODE)); do
    pbsdsh -n $line -- bash $PBS_O_WORKDIR/node.sh $PBS_O_WORKDIR ${#NODES[@]} $i $HEAD 29400 &
    i=$((i + 1))
done
wait
