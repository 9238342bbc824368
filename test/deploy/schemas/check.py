"""Every file of deploy/, rendered where it has to be, against the schemas of those who would read it; unknown fields are errors.

That the checks can fail is checked too: each kind of resource is given a field that it does not have.
"""

import copy
import glob
import os
import subprocess
import sys

import jsonschema
import kubernetes_validate
import yaml

DEPLOY = "deploy"
# The oldest and the newest Kubernetes that the files are for.
KUBERNETES = ("1.29", "1.37")
HELM_VALUES = {
    "with a claim alone": ["models.claimName=models"],
    "everything on": [
        "autoscaling.enabled=true",
        "serviceMonitor.enabled=true",
        "serviceMonitor.labels.release=prometheus",
        "service.headless=true",
        "service.annotations.a=b",
        "accessToken.secretName=token",
        "models.claimName=models",
        "config.LOG_VERBOSE=1",
        "env[0].name=A",
        "env[0].value=b",
        "imagePullSecrets[0].name=registry",
        "podLabels.a=b",
        "podAnnotations.a=b",
        "nodeSelector.a=b",
        "tolerations[0].operator=Exists",
        "affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms[0].matchFields[0].key=a",
        "affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms[0].matchFields[0].operator=Exists",
    ],
    "all addresses of IPv6": [
        "models.claimName=models",
        "config.HTTP_ADDRESS=::",
        "env[0].name=TSTRITON_CONFIG_GRPC_ADDRESS",
        "env[0].value=::",
        "command={tstriton,serve,/models,--metrics-address,::,--http-address=0.0.0.0,--grpc-address=::}",
    ],
    "models from the node": ["models.volume.hostPath.path=/srv/models", "podDisruptionBudget.enabled=false"],
}
# With what the refusal says, each beside a claim: a chart with nothing to serve is refused too.
HELM_REFUSES = {
    "replica=3": "'replica' not allowed",
    "image.tags=1": "'tags' not allowed",
    "replicas=two": "/replicas",
    "config.LOG_VERBOSE=null": "/config/LOG_VERBOSE",
    "models.volume.emptyDir.medium=Memory": "expected one of them",
    "service.headless=true,service.type=NodePort": "service.headless is for the type ClusterIP, got service.type NodePort",
    "autoscaling.enabled=true,autoscaling.minReplicas=20": "autoscaling.maxReplicas must be at least autoscaling.minReplicas, 20, got 10",
    "config.ACCESS_TOKEN=t,accessToken.secretName=s": "expected one of them",
    "config.SHUTDOWN_DELAY_SECS=5": "set the value shutdownDelaySecs",
    "config.HTTP_PORT=9000": "config.HTTP_PORT does not fit the chart: the chart's ports",
    "config.HTTP_ADDRESS=127.0.0.1": "config.HTTP_ADDRESS does not fit the chart: the probes ask at the address of the pod, over HTTP without TLS; expected :: or 0.0.0.0",
    "env[0].name=TSTRITON_CONFIG_HTTP_ADDRESS,env[0].valueFrom.fieldRef.fieldPath=status.podIP": "TSTRITON_CONFIG_HTTP_ADDRESS of env does not fit the chart",
    "command={tstriton,serve,/models,--grpc-address,::1}": "--grpc-address in command does not fit the chart",
    "config.GRPC_USE_SSL=true": "config.GRPC_USE_SSL does not fit the chart: the Service offers gRPC without TLS",
    "config.MODEL_REPOSITORY=/srv": "set command",
    "env[0].name=TSTRITON_CONFIG_ALLOW_HTTP,env[0].value=0": "TSTRITON_CONFIG_ALLOW_HTTP of env does not fit the chart",
    "command={tstriton,serve,/models,--metrics-port=9000}": "--metrics-port in command does not fit the chart",
}

failed = 0


def told(name, problem=None):
    global failed
    print(f"{'ok' if problem is None else 'not ok'} {name}{'' if problem is None else f': {problem}'}")
    failed += problem is not None


def output_of(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def strict(schema):
    """The schema of a custom resource, in which an object has the members that are named and no others."""
    if isinstance(schema, list):
        return [strict(entry) for entry in schema]
    if not isinstance(schema, dict):
        return schema
    members = {name: strict(value) for name, value in schema.items()}
    open_ended = schema.get("x-kubernetes-preserve-unknown-fields") or "additionalProperties" in schema
    if isinstance(schema.get("properties"), dict) and "type" in schema and not open_ended:
        members["additionalProperties"] = False
    if schema.get("x-kubernetes-int-or-string"):
        members.pop("type", None)
        members["anyOf"] = [{"type": "integer"}, {"type": "string"}]
    return members


def custom_schemas():
    schemas = {}
    for folder in (os.environ["KSERVE_DEFINITIONS"], os.environ["PROMETHEUS_DEFINITIONS"]):
        for path in glob.glob(f"{folder}/*servingruntimes.yaml") + glob.glob(f"{folder}/*inferenceservices.yaml") + glob.glob(
            f"{folder}/*servicemonitors.yaml"
        ):
            with open(path, encoding="utf8") as file:
                definition = yaml.safe_load(file)["spec"]
            for version in definition["versions"]:
                schema = strict(version["schema"]["openAPIV3Schema"])
                # Of the members that every resource has, the API server checks these.
                schema["properties"]["metadata"] = {"type": "object"}
                schemas[(f"{definition['group']}/{version['name']}", definition["names"]["kind"])] = schema
    return schemas


CUSTOM = custom_schemas()


def problem_of(resource):
    schema = CUSTOM.get((resource["apiVersion"], resource["kind"]))
    try:
        if schema is not None:
            jsonschema.validate(resource, schema)
        else:
            for version in KUBERNETES:
                kubernetes_validate.validate(resource, version, strict=True)
    except (jsonschema.ValidationError, kubernetes_validate.ValidationError) as error:
        return str(error.message)
    except kubernetes_validate.SchemaNotFoundError as error:
        return f"no schema: {error!r}"
    return None


def check_resources(name, text):
    resources = [resource for resource in yaml.safe_load_all(text) if resource is not None]
    if not resources:
        return told(name, "there is nothing in it")
    for resource in resources:
        told(f"{name}: {resource['kind']} {resource['metadata']['name']}", problem_of(resource))
        with_more = copy.deepcopy(resource)
        with_more["spec"]["unheardOf"] = 1
        if problem_of(with_more) is None:
            told(f"{name}: {resource['kind']}", "a field that there is not was not noticed")


for folder in ("base", "monitoring"):
    check_resources(f"kustomize {folder}", output_of("kustomize", "build", f"{DEPLOY}/kubernetes/{folder}"))

chart = f"{DEPLOY}/helm/tstriton"
lint = subprocess.run(["helm", "lint", "--strict", chart], capture_output=True, text=True)
told("helm lint", None if lint.returncode == 0 else lint.stdout + lint.stderr)
for name, values in HELM_VALUES.items():
    settings = [word for value in values for word in ("--set-string" if "LOG_VERBOSE" in value else "--set", value)]
    try:
        check_resources(f"helm, {name}", output_of("helm", "template", "release", chart, *settings))
    except subprocess.CalledProcessError as error:
        told(f"helm, {name}", error.stderr)
for value, words in HELM_REFUSES.items():
    setting = "--set" if "null" in value or "config." not in value else "--set-string"
    values = ["--set", "models.claimName=c", setting, value]
    refused = subprocess.run(["helm", "template", "release", chart, *values], capture_output=True, text=True)
    is_told = refused.returncode != 0 and words in refused.stderr
    told(f"helm refuses {value}", None if is_told else refused.stderr or "it took it")
nothing = subprocess.run(["helm", "template", "release", chart], capture_output=True, text=True)
told("helm refuses to serve nothing", None if "models.claimName" in nothing.stderr else nothing.stderr or "it took it")

for path in sorted(glob.glob(f"{DEPLOY}/kserve/*.yaml")):
    with open(path, encoding="utf8") as file:
        check_resources(path, file)

# What the command prints; it is to be built.
DEPLOYED = ["--name", "add-sub", "--image", "example.org/add-sub:1", "--namespace", "models", "--token-secret", "token", "--env", "A=b"]
DEPLOYMENTS = {
    "": ["model.js"],
    " with everything": ["--models-claim", "models", "--max-replicas", "4", "--service-monitor", "--http-port", "9000"],
    " for KServe": ["--format", "kserve", "--storage-uri", "pvc://models/repository"],
}
for name, arguments in DEPLOYMENTS.items():
    check_resources(f"tstriton deploy{name}", output_of("node", "dist/cli/main.js", "deploy", *arguments, *DEPLOYED))


def pod_of(text):
    """The pod of the Deployment, without what says whose it is."""
    [deployment] = [resource for resource in yaml.safe_load_all(text) if resource and resource["kind"] == "Deployment"]
    pod = deployment["spec"]["template"]["spec"]
    pod["topologySpreadConstraints"][0].pop("labelSelector")
    pod["containers"][0].pop("imagePullPolicy", None)
    pod["containers"][0]["env"].sort(key=lambda variable: variable["name"])
    return pod


with_claim = output_of("helm", "template", "release", chart, "--set", "models.claimName=tstriton-models")
same = pod_of(with_claim) == pod_of(output_of("kustomize", "build", f"{DEPLOY}/kubernetes/base"))
told("the chart's pod is that of the base", None if same else "they differ")

lint = subprocess.run(["hadolint", f"{DEPLOY}/Dockerfile"], capture_output=True, text=True)
told("hadolint", None if lint.returncode == 0 else lint.stdout + lint.stderr)

sys.exit(1 if failed else 0)
