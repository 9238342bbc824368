#!/usr/bin/env bash
# Compares the two engines on a real tritonserver, and kills what can die: `test/tritonserver/run.sh [part of a case's name]`.
# Installs PyPI's nvidia-pytriton, which carries a tritonserver, under build/tritonserver or in TRITONSERVER_CACHE, and uses
# it again. Needs Linux on x86-64 with Debian's own Python and its venv, whose library the python backend runs in.
set -euo pipefail
cd -- "$(dirname -- "${BASH_SOURCE[0]}")/../.."

environment=${TRITONSERVER_CACHE:-$PWD/build/tritonserver}/pytriton-0.7.0
python=/usr/bin/python3
[ -x "$python" ] || python=python3

if [ ! -e "$environment/complete" ]; then
  rm -rf -- "$environment"
  mkdir -p "$environment"
  "$python" -m venv "$environment"
  "$environment/bin/pip" install --disable-pip-version-check --quiet numpy==1.26.4 nvidia-pytriton==0.7.0
  # The stub of the backend is linked to it. Unpacked, not installed: that needs no rights.
  library=libpython$("$python" -c 'import sys; print("%d.%d" % sys.version_info[:2])')
  if ! ldconfig -p | grep -q "$library.so.1.0"; then
    cd "$environment"
    apt-get download "$library" || { apt-get update && apt-get download "$library"; }
    dpkg-deb -x "$library"_*.deb debian
    cd - > /dev/null
  fi
  touch "$environment/complete"
fi

libraries=("$environment"/debian/usr/lib/*/)
if [ -d "${libraries[0]}" ]; then export LD_LIBRARY_PATH=${libraries[0]}; fi
tritonserver=$(echo "$environment"/lib/python3*/site-packages/pytriton/tritonserver/bin/tritonserver)

npm run --silent build
node test/tritonserver/compare.mjs "$tritonserver" "$@"
if [ $# -eq 0 ]; then
  node test/tritonserver/lives.mjs "$tritonserver"
  node test/tritonserver/joined.mjs "$tritonserver"
  node --input-type=module --eval \
    'import { MODEL_PY } from "./dist/tritonserver/model-py.js"; process.stdout.write(MODEL_PY);' |
    "$environment/bin/python" test/tritonserver/silent.py
fi
