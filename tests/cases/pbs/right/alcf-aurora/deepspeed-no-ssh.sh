#!/bin/bash
#PBS -A AlphaTrain
#PBS -q debug
#PBS -l select=2
#PBS -l walltime=00:30:00
#PBS -l filesystems=home:flare
#PBS -N zero3
#PBS -o zero3.out
#PBS -e zero3.err

cd $PBS_O_WORKDIR
module load frameworks

export HEAD=$(head -n 1 $PBS_NODEFILE)
export HF=hostfile.${PBS_JOBID%%.*}
sort -u $PBS_NODEFILE | sed 's/$/ slots=12/' > $HF
# the first line has to be the head node, whatever sort made of the order
grep -n "^$HEAD" $HF

mpiexec -n 2 -ppn 1 --cpu-bind none bash -c \
    'deepspeed --hostfile=$HF --no_ssh --node_rank=$PALS_NODEID --master_addr=$HEAD --master_port=29500 train_zero3.py --deepspeed ds.json'
