// The container of a server, and what its pod has to know of it, for all that run one: a Deployment, and a runtime of KServe.

import { variableOf } from '../../config/read-environment.js';
import { OPTIONS } from '../../config/options.js';
import type { DeploymentOptions } from './deployment-options.js';
import type { Yaml } from './to-yaml.js';

/** Beyond what the server itself takes to end. */
const SPARE_SECONDS = 5;
/** Well within the time that a server goes on after it has said that it is not ready. */
const READINESS_PERIOD_SECONDS = 2;
const LIVENESS_PERIOD_SECONDS = 10;
const PROBE_TIMEOUT_SECONDS = 3;
/** Of the user `node` in Node's images. */
export const USER = 1000;

export interface ContainerPlace {
  readonly name: string;
  /** Where the model repository lies, which is served when nothing else is. */
  readonly models: string;
  /** A port's number, or its name. */
  readonly probedPort: string | number;
}

/** The members that do not depend on who runs the container. */
export function container(options: DeploymentOptions, { name, models, probedPort }: ContainerPlace) {
  const { image, serveArgs, cpu, memory, startupSecs } = options;
  const served = serveArgs.length > 0 ? serveArgs : ['--model-repository', models];
  const probe = (path: string) => ({ httpGet: { path, port: probedPort } });
  const timeoutSeconds = PROBE_TIMEOUT_SECONDS;
  const periodSeconds = READINESS_PERIOD_SECONDS;
  return {
    name,
    image,
    // Of the image's entry point, its init process.
    args: ['tstriton', 'serve', ...served],
    env: environment(options),
    // While models load nothing else is asked.
    startupProbe: {
      ...probe('/v2/health/ready'),
      periodSeconds,
      timeoutSeconds,
      failureThreshold: Math.ceil(startupSecs / READINESS_PERIOD_SECONDS),
    },
    livenessProbe: { ...probe('/v2/health/live'), periodSeconds: LIVENESS_PERIOD_SECONDS, timeoutSeconds },
    readinessProbe: { ...probe('/v2/health/ready'), periodSeconds, timeoutSeconds, failureThreshold: 1 },
    resources: { requests: { cpu, memory }, limits: { memory } },
    securityContext: {
      allowPrivilegeEscalation: false,
      readOnlyRootFilesystem: true,
      capabilities: { drop: ['ALL'] },
    },
  };
}

/** How long Kubernetes has to wait between asking the server to stop and killing it. */
export function gracePeriodSeconds({ shutdownDelaySecs, exitTimeoutSecs }: DeploymentOptions): number {
  return shutdownDelaySecs + exitTimeoutSecs + SPARE_SECONDS;
}

/** The image may have set the times; ports are said where they are not the server's own. */
function environment(options: DeploymentOptions): readonly Yaml[] {
  const { shutdownDelaySecs, exitTimeoutSecs, tokenSecret, env } = options;
  const set = { shutdownDelaySecs, exitTimeoutSecs, logFormat: 'json' } as const;
  const ports = (['httpPort', 'grpcPort', 'metricsPort'] as const)
    .filter((name) => options[name] !== OPTIONS[name].default)
    .map((name) => [name, options[name]] as const);
  const own = [...Object.entries(set), ...ports].map(
    ([name, value]) => [`TSTRITON_CONFIG_${variableOf(name)}`, String(value)] as const,
  );
  const variables = { ...Object.fromEntries(own), ...env };
  const token = { secretKeyRef: { name: tokenSecret, key: 'token' } };
  return [
    ...Object.entries(variables).map(([name, value]) => ({ name, value })),
    ...(tokenSecret === undefined ? [] : [{ name: 'TSTRITON_CONFIG_ACCESS_TOKEN', valueFrom: token }]),
  ];
}
