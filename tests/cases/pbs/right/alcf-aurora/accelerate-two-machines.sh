#!/bin/bash
#PBS -A AlphaTrain
#PBS -q debug
#PBS -l select=2
#PBS -l place=scatter
#PBS -l walltime=00:30:00
#PBS -l filesystems=home:flare

cd $PBS_O_WORKDIR
module load frameworks
export HF_HOME=/lus/flare/projects/AlphaTrain/hf
export TOKENIZERS_PARALLELISM=false

export NNODES=$(wc -l < $PBS_NODEFILE)
export NPROC=$(( NNODES * 12 ))
export HEAD=$(sed -n 1p $PBS_NODEFILE)

mpiexec -n $NNODES --ppn 1 --cpu-bind none bash -c '
    accelerate launch --multi_gpu --mixed_precision bf16 \
        --num_machines $NNODES --num_processes $NPROC --machine_rank $PALS_NODEID \
        --main_process_ip $HEAD --main_process_port 29511 \
        sft.py --model llama'
