#!/bin/sh
# The tree that a .deb and an .rpm hold: an environment at /opt/maple/venv that takes the host's own Python, 3.11 to 3.13,
# with a front that was compiled here. usage: tree.sh x86_64|aarch64 FOLDER
# What comes from elsewhere is daemon.lock, by its hashes; a submit host needs neither compiler nor network.
set -eu
cd "$(dirname "$0")/../.."
arch=$1
mkdir -p "$2"
to=$(cd "$2" && pwd)
python=.venv/bin/python
venv=$to/opt/maple/venv
pip() { "$python" -m pip --quiet --quiet --disable-pip-version-check "$@"; }

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
pip wheel --no-deps --no-build-isolation --wheel-dir "$folder" .
case $arch in
x86_64) compiler=gcc ;;
aarch64) compiler=aarch64-linux-gnu-gcc ;;
*) echo "no packages are made for $arch; x86_64 or aarch64" >&2 && exit 2 ;;
esac
make -s -C submit_filter/front CC=$compiler BUILD="$folder/front"

# One environment for each of these: the interpreter takes the lib/ of its own version, and shares the rest.
for version in 3.11 3.12 3.13; do
    pip install --target "$venv/lib/python$version/site-packages" --no-compile --only-binary :all: --require-hashes \
        --python-version "$version" --implementation cp --platform "manylinux2014_$arch" --platform "manylinux_2_28_$arch" \
        --platform "manylinux_2_17_$arch" --requirement packaging/setup/daemon.lock
    (cd "$venv/lib/python$version/site-packages" && rm -rf bin hatchling* editables* trove_classifiers* pathspec*)
    (cd "$venv/lib/python$version/site-packages" && "$OLDPWD/$python" -m zipfile -e "$folder"/maple_hpc-*.whl .)
done
for version in 3.11 3.12 3.13; do
    shared=$(echo "$venv/lib/python$version/site-packages"/maple_hpc-*.data/data)
    [ -d "$venv/share" ] || cp -R "$shared/share" "$venv/share"
    rm -rf "$(dirname "$shared")"
done
install -m 755 "$folder/front/front" "$venv/share/maple/front/front"

mkdir -p "$venv/bin" "$to/usr/bin" "$to/usr/share"
ln -s /usr/bin/python3 "$venv/bin/python3"
printf 'home = /usr/bin\ninclude-system-site-packages = false\n' >"$venv/pyvenv.cfg"
for line in maple=maple_agents.cli.start:maple maple-fix=maple_agents.cli.start:maple_fix \
    maple-daemon=maple_daemon.cli.daemon:main; do
    name=${line%%=*} module=${line#*=}
    printf '#!/opt/maple/venv/bin/python3 -P\nfrom %s import %s\n\n%s()\n' "${module%:*}" "${module#*:}" "${module#*:}" \
        >"$venv/bin/$name"
    chmod 755 "$venv/bin/$name"
    ln -s "/opt/maple/venv/bin/$name" "$to/usr/bin/$name"
done
# Pages and completion where every shell looks.
for place in man/man1 man/man7 bash-completion/completions zsh/site-functions fish/vendor_completions.d; do
    system=$place
    [ "$place" != zsh/site-functions ] || system=zsh/vendor-completions
    mkdir -p "$to/usr/share/$system"
    for file in "$venv/share/$place"/*maple*; do
        ln -s "/opt/maple/venv/share/$place/$(basename "$file")" "$to/usr/share/$system/"
    done
done
find "$to" -type d -exec chmod 755 {} +
