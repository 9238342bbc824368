// What a deployment is made from, checked: names and quantities that a cluster would refuse are refused here, by the name of the flag.

import { invalidArg } from '../../errors.js';
import { checkServerOptions } from './check-server-options.js';

export interface DeploymentOptions {
  readonly name: string;
  readonly image: string;
  readonly namespace: string | undefined;
  /** The fewest, where there are `maxReplicas`. */
  readonly replicas: number;
  readonly maxReplicas: number | undefined;
  /** Files in the image, and flags of `tstriton serve`; none: the model repository of the image, or of the claim. */
  readonly serveArgs: readonly string[];
  /** The claim whose volume is the model repository. */
  readonly modelsClaim: string | undefined;
  /** Where KServe fetches the model repository. */
  readonly storageUri: string | undefined;
  readonly httpPort: number;
  readonly grpcPort: number;
  readonly metricsPort: number;
  readonly cpu: string;
  readonly memory: string;
  /** How long models may take to load. */
  readonly startupSecs: number;
  readonly shutdownDelaySecs: number;
  readonly exitTimeoutSecs: number;
  /** The Secret whose key `token` is the access token. */
  readonly tokenSecret: string | undefined;
  /** Whether a Prometheus operator is to look at the metrics. */
  readonly serviceMonitor: boolean;
  readonly env: Readonly<Record<string, string>>;
}

/** What becomes a file, by itself or in a folder. */
export interface DeploymentFile {
  readonly path: string;
  readonly content: string;
}

const SERVICE_NAME = /^[a-z]([-a-z0-9]{0,61}[a-z0-9])?$/;
const LABEL = /^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$/;
const OBJECT_NAME = /^[a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?$/;
const CPU = /^(\d+(\.\d{1,3})?|\d+m)$/;
const MEMORY = /^\d+(\.\d+)?(k|M|G|T|Ki|Mi|Gi|Ti)?$/;
const VARIABLE = /^[A-Za-z_][A-Za-z0-9_]*$/;
const IMAGE = /^[\w][\w.:/@-]*$/;
const STORAGE_URI = /^[a-z][a-z0-9+.-]*:\/\/\S+$/;

/** Throws INVALID_ARG naming the flag. */
export function checkDeployment(options: DeploymentOptions): DeploymentOptions {
  const { name, namespace, image, cpu, memory, tokenSecret, modelsClaim, storageUri, env } = options;
  expectMatch(name, SERVICE_NAME, '--name', 'at most 63 lower-case letters, digits and hyphens, a letter first');
  expectMatch(image, IMAGE, '--image', 'an image, as registry.example.org/model:1.0');
  expectMatch(namespace, LABEL, '--namespace', 'at most 63 lower-case letters, digits and hyphens');
  expectMatch(cpu, CPU, '--cpu', 'processors, as 2 or 500m');
  expectMatch(memory, MEMORY, '--memory', 'bytes, as 512Mi or 2Gi');
  expectMatch(tokenSecret, OBJECT_NAME, '--token-secret', 'the name of a Secret');
  expectMatch(modelsClaim, OBJECT_NAME, '--models-claim', 'the name of a PersistentVolumeClaim');
  expectMatch(storageUri, STORAGE_URI, '--storage-uri', 'a URI that KServe fetches, as pvc://claim/folder');
  for (const variable of Object.keys(env)) expectMatch(variable, VARIABLE, '--env', 'NAME=value');
  checkReplicas(options);
  checkPorts(options);
  checkServerOptions(options);
  return options;
}

function checkReplicas({ replicas, maxReplicas = replicas }: DeploymentOptions): void {
  if (maxReplicas >= replicas) return;
  throw invalidArg(`--max-replicas must be at least --replicas, ${replicas}, got ${maxReplicas}`);
}

function checkPorts({ httpPort, grpcPort, metricsPort }: DeploymentOptions): void {
  const ports = [httpPort, grpcPort, metricsPort];
  for (const port of ports) {
    if (port < 1 || port > 65_535) throw invalidArg(`a port of a container must be from 1 to 65535, got ${port}`);
  }
  if (new Set(ports).size < ports.length) {
    throw invalidArg(`--http-port, --grpc-port and --metrics-port must be three ports, got ${ports.join(', ')}`);
  }
}

function expectMatch(value: string | undefined, pattern: RegExp, flag: string, expected: string): void {
  if (value === undefined || pattern.test(value)) return;
  throw invalidArg(`${flag} must be ${expected}, got ${JSON.stringify(value)}`);
}
