#!/usr/bin/env bash
# Create the virtual environment $2 with the interpreter $1 and install edgeconv into it, editable,
# with everything that the tests and examples need.
set -euo pipefail
cd "$(dirname "$0")/.."

python=$1
venv=$2

if ! command -v "$python" >/dev/null; then
    echo "make: $python not found: install Python 3.11 or newer, or say make PYTHON=<interpreter>" >&2
    exit 1
fi
if ! "$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))'; then
    echo "make: $("$python" --version) is too old: edgeconv needs Python 3.11 or newer;" \
        "say make PYTHON=<interpreter>" >&2
    exit 1
fi
if [ ! -x "$venv/bin/python" ] || ! "$venv/bin/python" -m pip --version >/dev/null 2>&1; then
    rm -rf "$venv"
    if ! "$python" -c 'import ensurepip, venv' 2>/dev/null; then
        # Debian and Ubuntu split these modules off.
        package=$("$python" -c 'import sys; print("python%d.%d-venv" % sys.version_info[:2])')
        if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
            echo "make: installing $package"
            apt-get update -qq >/dev/null || true
            DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends \
                "$package" >/dev/null || true
        fi
        if ! "$python" -c 'import ensurepip, venv' 2>/dev/null; then
            echo "make: $python has no venv module: run: apt-get install $package" >&2
            exit 1
        fi
    fi
    "$python" -m venv "$venv"
fi
echo "make: installing edgeconv and its development tools into $venv"
"$venv/bin/python" -m pip install --quiet --disable-pip-version-check --editable '.[dev]'
