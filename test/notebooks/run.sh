#!/usr/bin/env bash
# Runs the cells of docs/notebooks.md in a TypeScript kernel of Jupyter: `test/notebooks/run.sh`. Makes an environment of its own under
# build/notebooks, or in NOTEBOOKS_CACHE, and uses it again; the package is packed anew. The exit code is 0 when all printed what they should.
set -euo pipefail
cd -- "$(dirname -- "${BASH_SOURCE[0]}")/../.."
root=$PWD
environment=${NOTEBOOKS_CACHE:-$PWD/build/notebooks}

if [ ! -e "$environment/complete" ]; then
  rm -rf -- "$environment"
  mkdir -p "$environment/kernels/tslab"
  cp .npmrc "$environment"
  echo '{ "name": "notebook", "private": true }' > "$environment/package.json"
  npm install --prefix "$environment" tslab@1.0.22
  python3 -m venv "$environment/python"
  "$environment/python/bin/pip" install --quiet --disable-pip-version-check nbclient==0.11.0 nbformat==5.11.1
  # `tslab install --binary` writes the same, where all of Jupyter is installed.
  printf '{ "argv": ["%s", "kernel", "--config-path", "{connection_file}"], "display_name": "TypeScript", "language": "typescript" }' \
    "$environment/node_modules/.bin/tslab" > "$environment/kernels/tslab/kernel.json"
  touch "$environment/complete"
fi

npm run --silent build
node scripts/pack.js "$environment" > /dev/null
cd "$environment"
npm install --no-save ./tstriton-*.tgz
JUPYTER_PATH=$environment python/bin/python "$root/test/notebooks/run_cells.py" "$root/docs/notebooks.md"
