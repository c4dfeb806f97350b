#!/bin/bash
#PBS -l select=2
cat > inner.sh <<'EOT'
#!/bin/bash
#PBS -l select=1
EOT
qsub inner.sh
