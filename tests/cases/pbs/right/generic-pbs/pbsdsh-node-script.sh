#!/bin/bash
#PBS -P ab12
#PBS -q gpuvolta
#PBS -l select=2:ncpus=12:ngpus=4:mpiprocs=1
#PBS -l place=scatter
#PBS -l walltime=02:00:00
# pbsdsh hands over no variables of this shell, so everything goes as words.

cd $PBS_O_WORKDIR
export HEAD=$(head -n 1 $PBS_NODEFILE)
NNODES=$(sort -u $PBS_NODEFILE | wc -l)
for i in $(seq 0 $((NNODES - 1))); do
    pbsdsh -n $i -- bash $PBS_O_WORKDIR/node.sh $PBS_O_WORKDIR $HEAD $NNODES $i &
done
wait
