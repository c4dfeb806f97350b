#!/bin/sh
# Makes build/callers-venv with the tools that tests/callers drives. Does nothing when it is there as the list wants it.
set -eu
cd "$(dirname "$0")/../.."
list=tests/callers/requirements.txt
venv=build/callers-venv
if cmp -s "$list" "$venv/installed.txt"; then
    exit 0
fi
echo "making $venv with the callers of $list (about 45 s, 600 MB)"
python=.venv/bin/python
[ -x "$python" ] || python=python3
"$python" -m venv "$venv"
"$venv/bin/pip" install --quiet --quiet --disable-pip-version-check -r "$list"
cp "$list" "$venv/installed.txt"
