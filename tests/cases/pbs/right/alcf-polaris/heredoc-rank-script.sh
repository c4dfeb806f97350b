#!/bin/bash
#PBS -A AlphaTrain
#PBS -q debug-scaling
#PBS -l select=4
#PBS -l walltime=00:30:00
#PBS -l filesystems=eagle
#PBS -N sixteen

cd $PBS_O_WORKDIR
PPN=4
NP=$(( $(wc -l < $PBS_NODEFILE) * PPN ))

cat > rank.sh <<EOF
#!/bin/bash
export MASTER_ADDR=$(head -n 1 $PBS_NODEFILE)
export MASTER_PORT=29500
export WORLD_SIZE=$NP
export RANK=\$PMI_RANK
export LOCAL_RANK=\$PMI_LOCAL_RANK
exec python -u train.py
EOF
chmod u+x rank.sh
mpiexec -n $NP --ppn $PPN --cpu-bind verbose,list:0,8,16,24 ./rank.sh
