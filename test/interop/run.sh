#!/usr/bin/env bash
# Asks our server with the real clients: `test/interop/run.sh [case…]`, where a case is a part of a case's or file's name.
# Makes an environment of its own under build/interop, or in INTEROP_CACHE, and uses it again while the lists of what it
# holds are the same. Fails when something cannot be installed. One line a case; the exit code is 0 when all are ok.
set -euo pipefail
cd -- "$(dirname -- "${BASH_SOURCE[0]}")/../.."
suite=$PWD/test/interop

GO_TOOLS=(
  github.com/fullstorydev/grpcurl/cmd/grpcurl@v1.9.4
  github.com/bojand/ghz/cmd/ghz@v0.93.0
  github.com/summerwind/h2spec/cmd/h2spec@v2.2.1+incompatible
)
DEBIAN_PACKAGES=(
  libb64-0d # for perf_analyzer
  prometheus # for promtool
  nghttp2-client libnghttp2-14 libc-ares2 libev4 libjansson4 libjemalloc2 # for nghttp and h2load
  haproxy liblua5.3-0 libopentracing-c-wrapper0 libopentracing1
)

fail() {
  echo "interop: $*" >&2
  exit 1
}

for tool in node npm python3 go openssl curl apt-get dpkg-deb; do
  command -v "$tool" > /dev/null || fail "$tool is needed and is not installed"
done

key=$({ cat "$suite/requirements.txt" && python3 --version && echo "${GO_TOOLS[@]}" "${DEBIAN_PACKAGES[@]}"; } | sha256sum)
environment=${INTEROP_CACHE:-$PWD/build/interop}/${key:0:12}

scratch=$(mktemp -d)
stop() {
  local running
  running=$(jobs -pr)
  # shellcheck disable=SC2086 # one word each
  if [ -n "$running" ]; then kill $running 2> /dev/null && wait $running 2> /dev/null || true; fi
  rm -rf -- "$scratch"
}
trap stop EXIT
trap 'exit 130' INT TERM HUP

# Each step writes a log, which is shown only when it fails. In the background, as `set -e` counts for nothing in conditions.
step() {
  ("$@") > "$scratch/$1.log" 2>&1 &
  if ! wait $!; then
    tail -n 20 "$scratch/$1.log" >&2
    fail "$1 did not succeed"
  fi
}

python_packages() {
  python3 -m venv "$environment/python"
  "$environment/python/bin/pip" install --disable-pip-version-check --no-deps -r "$suite/requirements.txt"
  "$environment/python/bin/pip" check
}

go_tools() {
  local tool
  for tool in "${GO_TOOLS[@]}"; do GOBIN=$environment/bin go install "$tool"; done
}

# Unpacked, not installed: needs no rights.
debian_packages() {
  mkdir -p "$environment/debian"
  cd "$environment/debian"
  apt-get download "${DEBIAN_PACKAGES[@]}" || { apt-get update && apt-get download "${DEBIAN_PACKAGES[@]}"; }
  local package
  for package in *.deb; do dpkg-deb -x "$package" .; done
  rm -- *.deb
}

install_peers() {
  rm -rf -- "$environment"
  mkdir -p "$environment"
  step debian_packages
  step python_packages & local python=$!
  step go_tools & local go=$!
  local code=0
  wait "$python" || code=$?
  wait "$go" || code=$?
  [ "$code" -eq 0 ] || exit "$code"
  touch "$environment/complete"
}

# An authority, and what it signed: the server and one client.
make_certificates() {
  cd "$scratch"
  local new=(-newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes) name
  openssl req -x509 "${new[@]}" -days 2 -subj /CN=interop-authority -keyout ca.key -out ca.pem
  echo 'subjectAltName=DNS:localhost,IP:127.0.0.1' > names
  for name in server client; do
    openssl req "${new[@]}" -subj "/CN=$name" -keyout "$name.key" -out "$name.csr"
    openssl x509 -req -in "$name.csr" -CA ca.pem -CAkey ca.key -CAcreateserial -days 2 -extfile names -out "$name.pem"
  done
}

[ -e "$environment/complete" ] || install_peers
step make_certificates

npm run --silent build
node scripts/compile.js examples/tsconfig.json build/examples # ocr
mkfifo "$scratch/ports"
node "$suite/server.mjs" "$scratch" > "$scratch/ports" 2> "$scratch/server.log" &
server=$!
if ! read -r -t 60 INTEROP_SERVERS < "$scratch/ports"; then
  tail -n 20 "$scratch/server.log" >&2
  fail 'the server did not start'
fi

export INTEROP_SERVERS
export INTEROP_CERTIFICATES=$scratch
export PATH=$environment/bin:$environment/debian/usr/bin:$environment/debian/usr/sbin:$environment/python/bin:$PATH
libraries=("$environment"/debian/usr/lib/*/ "$environment"/python/lib/python3*/site-packages/nvidia/cuda_runtime/lib)
# All of them: packages bring folders of other kinds too.
INTEROP_LIBRARIES=$(IFS=: && echo "${libraries[*]}")
export INTEROP_LIBRARIES
export PYTHONDONTWRITEBYTECODE=1 GRPC_VERBOSITY=NONE

code=0
python -W ignore "$suite/cases/run.py" "$@" || code=$?
if ! kill -0 "$server" 2> /dev/null; then
  tail -n 20 "$scratch/server.log" >&2
  fail 'the server ended before it was told to'
fi
exit "$code"
