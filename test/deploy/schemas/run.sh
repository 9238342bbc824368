#!/usr/bin/env bash
# Checks the files of deploy/ as Kubernetes, KServe and the Prometheus operator would, without a cluster: `test/deploy/schemas/run.sh`.
# Makes an environment of its own under build/deploy, or in DEPLOY_CACHE, and uses it again. Fails when something cannot be
# installed. One line a check; the exit code is 0 when all are ok.
set -euo pipefail
cd -- "$(dirname -- "${BASH_SOURCE[0]}")/../../.."
suite=$PWD/test/deploy/schemas

GO_TOOLS=(sigs.k8s.io/kustomize/kustomize/v5@v5.7.1 helm.sh/helm/v3/cmd/helm@v3.18.6)
# Whose definitions of their resources are asked.
KSERVE=github.com/kserve/kserve@v0.15.2
PROMETHEUS_OPERATOR=github.com/prometheus-operator/prometheus-operator@v0.85.0

key=$({ cat "$suite/requirements.txt" && python3 --version && echo "${GO_TOOLS[@]}"; } | sha256sum)
environment=${DEPLOY_CACHE:-$PWD/build/deploy}/${key:0:12}

if [ ! -e "$environment/complete" ]; then
  rm -rf -- "$environment"
  mkdir -p "$environment"
  python3 -m venv "$environment/python"
  "$environment/python/bin/pip" install --quiet --disable-pip-version-check -r "$suite/requirements.txt"
  for tool in "${GO_TOOLS[@]}"; do GOFLAGS=-ldflags=-s GOBIN=$environment/bin go install "$tool"; done
  touch "$environment/complete"
fi

# In a folder of no module, where `go mod download` says where a module lies.
folder_of() {
  (cd "$environment" && go mod download -json "$1") | python3 -c 'import json, sys; print(json.load(sys.stdin)["Dir"])'
}
KSERVE_DEFINITIONS=$(folder_of "$KSERVE")/config/crd/full
PROMETHEUS_DEFINITIONS=$(folder_of "$PROMETHEUS_OPERATOR")/example/prometheus-operator-crd
export KSERVE_DEFINITIONS PROMETHEUS_DEFINITIONS
export PATH=$environment/bin:$environment/python/bin:$PATH PYTHONDONTWRITEBYTECODE=1
python "$suite/check.py"
