#!/bin/sh
# Makes build/heavy-venv with the launchers and frameworks of requirements.txt. Does nothing when they are there.
# Two calls at once are safe: the second waits for the first.
set -eu
cd "$(dirname "$0")/../.."
list=tests/miniapps/requirements.txt
venv=build/heavy-venv
mkdir -p build
exec 9>build/heavy-venv.lock
flock 9
if cmp -s "$list" "$venv/installed.txt"; then
    exit 0
fi
echo "making $venv with the frameworks of $list (about a minute, 1.1 GB where a CPU build of torch is in reach)"
python=.venv/bin/python
[ -x "$python" ] || python=python3
[ -x "$venv/bin/python" ] || "$python" -m venv "$venv"
"$venv/bin/pip" install --quiet --quiet --disable-pip-version-check -r "$list"
cp "$list" "$venv/installed.txt"
