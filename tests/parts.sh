#!/bin/sh
# Runs every test in parts, one lane of parts for each processor and one more: some parts mostly wait for labs.
# A part is a folder without the parts below it. What it said stands in build/tests/, and is shown where it failed.
set -u
cd "$(dirname "$0")/.."
pytest=${PYTEST:-".venv/bin/pytest -q"}
# The longest first, so that no lane has much to do when the others have nothing left.
labs="tests/miniapps tests/reality tests/new567 tests/agents/verify tests/lab tests/agents/debug/lab tests/agents/schedulers
tests/pbs_lab"
computes="tests/submit_filter tests/agents/debug tests/daemon tests/agents tests/packaging tests"
logs=build/tests

# What pytest is to leave out of a part: the other parts that lie in it.
apart() {
    for other in $labs $computes; do
        case $other in "$1"/*) echo "--ignore=$other" ;; esac
    done
}

# Runs the parts that no other lane has begun, in that order.
lane() {
    trap 'exit 130' INT # not before the part that is running has ended as well
    for part; do
        log=$logs/$(echo "$part" | tr / -)
        mkdir "$log.begun" 2>/dev/null || continue
        # shellcheck disable=SC2046,SC2086 # lists of words
        if $pytest -p no:cacheprovider $(apart "$part") "$part" >"$log.running" 2>&1; then
            mv "$log.running" "$log.passed"
            echo "$part: $(tail -n 1 "$log.passed")"
        else
            mv "$log.running" "$log.failed"
            echo "$part: failed, see below"
        fi
    done
}

if [ "${1-}" = lane ]; then
    shift
    lane "$@"
    exit
fi

rm -rf "$logs"
mkdir -p "$logs"
lanes=
trap 'for lane in $lanes; do kill -INT "-$lane" 2>/dev/null; done; wait; exit 130' INT TERM HUP
number=$(nproc)
while [ "$number" -ge 0 ]; do
    if [ "$number" -eq 0 ]; then order="$labs $computes"; else order="$computes $labs"; fi
    # A shell has what it starts in the background ignore SIGINT, by which the trap ends it. A session of its own: Linux
    # shares processors out among sessions first, and each step of a job on a lab is one.
    # shellcheck disable=SC2086
    setsid env --default-signal=INT,QUIT sh tests/parts.sh lane $order &
    lanes="$lanes $!"
    number=$((number - 1))
done
wait
for log in "$logs"/*.failed; do
    [ ! -e "$log" ] || cat "$log"
done
for part in $labs $computes; do # each has been run, and well
    [ -e "$logs/$(echo "$part" | tr / -).passed" ] || exit 1
done
