#!/bin/bash
# Tricky: a server in the background and a client; neither is a rank of anything.
# lab: no (its server is killed, and says so)
#SBATCH --nodes=1 --ntasks=1 --gpus-per-node=4
python -m vllm.entrypoints.openai.api_server --tensor-parallel-size 4 --port 8000 &
SERVER=$!
python client.py --url http://localhost:8000
kill $SERVER 2>/dev/null
wait
