#!/usr/bin/env bash
# Runs the client in real browsers and runtimes, and the server's page in Chromium: `test/browser/real/run.sh [picture]`. Makes an environment of its own under
# build/browsers, or in BROWSERS_CACHE, and uses it again. Fails when something cannot be installed. One line a check; the exit
# code is 0 when all are ok.
set -euo pipefail
cd -- "$(dirname -- "${BASH_SOURCE[0]}")/../../.."

RUNTIMES=(deno@2.9.6 bun@1.4.5)

environment=${BROWSERS_CACHE:-$PWD/build/browsers}
suite=$PWD/test/browser/real
picture=${1:+$(realpath -- "$1")}

# Without install scripts, as everywhere: the binaries are packages of their own.
install_runtimes() {
  cp .npmrc "$environment"
  echo '{ "name": "browsers", "private": true }' > "$environment/package.json"
  npm install --prefix "$environment" "${RUNTIMES[@]}"
  local binary
  for binary in "$environment"/node_modules/@deno/*/deno "$environment"/node_modules/@oven/bun-linux-*/bin/bun; do
    ln -sf "$binary" "$environment/bin/$(basename "$binary")"
  done
}

if [ ! -e "$environment/complete" ]; then
  rm -rf -- "$environment"
  mkdir -p "$environment/bin"
  "$suite/install-chromium.sh" "$environment"
  install_runtimes
  touch "$environment/complete"
fi

npm run --silent build
export CHROMIUM=$environment/bin/chromium
node "$suite/run.mjs" "$environment/bin" ${picture:+"$picture"}
node_modules/.bin/tsx test/page/run.ts
