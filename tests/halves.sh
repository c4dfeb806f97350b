#!/bin/sh
# Runs every test in two halves side by side: one mostly waits for labs, the other mostly computes.
# The second half's report comes when the first has ended. Fails when either does.
set -u
cd "$(dirname "$0")/.."
pytest=${PYTEST:-".venv/bin/pytest -q"}
labs="tests/agents/debug/lab tests/agents/schedulers tests/agents/verify tests/lab tests/miniapps tests/new567 tests/pbs_lab tests/reality"
mkdir -p build
apart=
for folder in $labs; do
    apart="$apart --ignore=$folder"
done

# A shell has what it starts in the background ignore SIGINT, by which the trap below ends it. A session of its own:
# Linux shares processors out among sessions first, and each step of a job on a lab is one.
# shellcheck disable=SC2086 # lists of words
setsid env --default-signal=INT,QUIT $pytest -p no:cacheprovider $apart tests >build/other-half.log 2>&1 &
other=$!
trap 'kill -INT "$other" 2>/dev/null; wait "$other"; exit 130' INT TERM HUP

# shellcheck disable=SC2086
$pytest $labs
first=$?
wait "$other"
second=$?
cat build/other-half.log
[ "$first" -eq 0 ] && [ "$second" -eq 0 ]
