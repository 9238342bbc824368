#!/usr/bin/env bash
# Sends spans of ours to a collector of the OpenTelemetry project: `test/live/collector/run.sh`. Builds the collector under build/collector,
# or in COLLECTOR_CACHE, unless it is there. The exit code is 0 when all that was sent arrived as it was.
set -euo pipefail
cd -- "$(dirname -- "${BASH_SOURCE[0]}")/../../.."

sources=$PWD/test/live/collector
key=$(cat "$sources"/main.go "$sources"/go.mod "$sources"/go.sum | sha256sum)
OTEL_COLLECTOR=${COLLECTOR_CACHE:-$PWD/build/collector}/${key:0:12}
[ -x "$OTEL_COLLECTOR" ] || go build -C "$sources" -o "$OTEL_COLLECTOR" .
export OTEL_COLLECTOR

npm run --silent build
npx vitest run --config test/live/vitest.config.ts otlp
