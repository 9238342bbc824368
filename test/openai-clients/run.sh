#!/usr/bin/env bash
# Asks the OpenAI API of our server with the clients that Python has: `test/openai-clients/run.sh`. Makes an environment of its own
# under build/openai-clients, or in OPENAI_CLIENTS_CACHE, and uses it again. The exit code is 0 when all answers are right.
set -euo pipefail
cd -- "$(dirname -- "${BASH_SOURCE[0]}")/../.."
suite=$PWD/test/openai-clients

key=$({ cat "$suite/requirements.txt" && python3 --version; } | sha256sum)
environment=${OPENAI_CLIENTS_CACHE:-$PWD/build/openai-clients}/${key:0:12}

if [ ! -e "$environment/complete" ]; then
  rm -rf -- "$environment"
  mkdir -p "$environment"
  python3 -m venv "$environment/python"
  "$environment/python/bin/pip" install --quiet --disable-pip-version-check -r "$suite/requirements.txt"
  touch "$environment/complete"
fi

npm run --silent build
exec "$environment/python/bin/python" -W ignore "$suite/ask.py"
