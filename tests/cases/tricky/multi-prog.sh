#!/bin/bash
# Tricky: srun --multi-prog takes the programs from a file.
#SBATCH --nodes=1 --ntasks=3
cat > prog.conf <<'CONF'
0 python server.py
1-2 python worker.py --index %t
CONF
srun --multi-prog prog.conf
