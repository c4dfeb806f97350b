#!/bin/sh
# Fills FOLDER/bookworm and FOLDER/trixie with a small Debian each, for trying packages in: roots.sh FOLDER. As root.
set -eu
command -v debootstrap >/dev/null || { echo "roots.sh: apt-get install debootstrap" >&2 && exit 1; }
mkdir -p "$1"
for suite in bookworm trixie; do
    [ -d "$1/$suite" ] && continue
    echo "filling $1/$suite"
    rm -rf "$1/$suite.part"
    debootstrap --variant=minbase --include=python3 "$suite" "$1/$suite.part" http://deb.debian.org/debian >"$1/$suite.log"
    mv "$1/$suite.part" "$1/$suite"
done
