#!/bin/bash
#PBS -A AlphaTrain
#PBS -q debug
#PBS -l select=2
#PBS -l walltime=00:59:00
#PBS -l filesystems=home:eagle

cd $PBS_O_WORKDIR

export N=$(wc -l < $PBS_NODEFILE)
export GPUS=$((N * 4))
export IP=$(head -n1 $PBS_NODEFILE)

cat > fsdp.$PBS_JOBID.yaml <<EOF
compute_environment: LOCAL_MACHINE
distributed_type: FSDP
mixed_precision: bf16
main_training_function: main
EOF

mpiexec -n $N --ppn 1 --cpu-bind none bash -c 'accelerate launch --config_file fsdp.$PBS_JOBID.yaml \
    --num_machines $N --num_processes $GPUS --machine_rank $PALS_NODEID \
    --main_process_ip $IP --main_process_port 29501 run_clm.py --bf16'
