#!/bin/sh
# Builds the documentation site into docs/site: MkDocs in an environment of its own, by a list with hashes. The site
# itself needs no network: fonts, scripts and search come with it.
set -eu
cd "$(dirname "$0")/../.."

venv=build/docs-venv
lock=packaging/setup/docs.lock
if ! cmp -s "$lock" "$venv/.made" 2>/dev/null; then
    echo "making $venv with MkDocs"
    rm -rf "$venv"
    .venv/bin/python -m venv "$venv"
    "$venv/bin/python" -m pip install --quiet --quiet --no-input --disable-pip-version-check --root-user-action=ignore \
        --require-hashes --only-binary :all: --requirement "$lock"
    cp "$lock" "$venv/.made"
fi
.venv/bin/python packaging/docs/site_pages.py
NO_MKDOCS_2_WARNING=1 "$venv/bin/mkdocs" build --quiet --strict --config-file build/docs-site/mkdocs.yml
echo "docs/site/index.html"
