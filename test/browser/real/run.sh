#!/usr/bin/env bash
# Runs the client in real browsers and runtimes: `test/browser/real/run.sh [picture]`. Makes an environment of its own under
# build/browsers, or in BROWSERS_CACHE, and uses it again. Fails when something cannot be installed. One line a check; the exit
# code is 0 when all are ok.
set -euo pipefail
cd -- "$(dirname -- "${BASH_SOURCE[0]}")/../../.."

RUNTIMES=(deno@2.9.6 bun@1.4.5)

environment=${BROWSERS_CACHE:-$PWD/build/browsers}
suite=$PWD/test/browser/real
picture=${1:+$(realpath -- "$1")}

# Debian's, with what it needs that is not installed: unpacked, not installed, which needs no rights.
install_chromium() {
  mkdir -p "$environment/debian" "$environment/archives/partial"
  # apt-get takes locks for a download that only root may.
  local packages
  packages=$(apt-get install --simulate --no-install-recommends chromium | awk '$1 == "Inst" { print $2 }') ||
    { apt-get update && packages=$(apt-get install --simulate --no-install-recommends chromium | awk '$1 == "Inst" { print $2 }'); }
  cd "$environment/archives"
  # shellcheck disable=SC2086 # one word each
  apt-get download $packages || { apt-get update && apt-get download $packages; }
  local package
  for package in *.deb; do dpkg-deb -x "$package" "$environment/debian"; done
  cd - > /dev/null
  rm -r "$environment/archives"
  cat > "$environment/bin/chromium" << END
#!/bin/sh
for folder in "$environment"/debian/usr/lib/*-linux-gnu; do
  export LD_LIBRARY_PATH="\$folder:\$folder/pulseaudio\${LD_LIBRARY_PATH:+:\$LD_LIBRARY_PATH}"
done
exec "$environment/debian/usr/lib/chromium/chromium" "\$@"
END
  chmod +x "$environment/bin/chromium"
}

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
  if command -v chromium > /dev/null; then ln -s "$(command -v chromium)" "$environment/bin/chromium"; else install_chromium; fi
  install_runtimes
  touch "$environment/complete"
fi

npm run --silent build
CHROMIUM=$environment/bin/chromium node "$suite/run.mjs" "$environment/bin" ${picture:+"$picture"}
