#!/bin/bash
# lab: MAPLE_MPI=hydra
#PBS -N ds
#PBS -l select=2:ncpus=8:ngpus=4
#PBS -l place=scatter
#PBS -l walltime=05:00:00

cd $PBS_O_WORKDIR
export HEAD=$(head -1 $PBS_NODEFILE)
export HOSTS=$PBS_O_WORKDIR/hostfile
rm -f $HOSTS
while read -r host; do
    echo "$host slots=4" >> $HOSTS
done < <(awk '!seen[$0]++' $PBS_NODEFILE)
cat $HOSTS

mpiexec -n 2 -ppn 1 bash -c 'deepspeed --hostfile $HOSTS --no_ssh --node_rank $PMI_RANK --master_addr $HEAD --master_port 29500 train.py --zero 3'
