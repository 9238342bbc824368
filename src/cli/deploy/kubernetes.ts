// The Deployment and the Service of a server in Kubernetes.

import type { DeploymentFile, DeploymentOptions } from './deployment-options.js';
import { toYaml, type Yaml } from './to-yaml.js';

const PROBE_SECONDS = 5;
/** Beyond what the server itself takes to end. */
const SPARE_SECONDS = 10;
/** Of the user `node` in Node's images. */
const USER = 1000;

export function kubernetesFiles(options: DeploymentOptions): readonly DeploymentFile[] {
  return [
    { path: 'deployment.yaml', content: toYaml(deployment(options)) },
    { path: 'service.yaml', content: toYaml(service(options)) },
  ];
}

/** What tells its pods from others. */
function selectorOf({ name }: DeploymentOptions) {
  return { 'app.kubernetes.io/name': name };
}

function metadataOf(options: DeploymentOptions) {
  return { name: options.name, namespace: options.namespace, labels: selectorOf(options) };
}

export function deployment(options: DeploymentOptions): Yaml {
  const { replicas, shutdownDelaySecs, exitTimeoutSecs } = options;
  const selector = selectorOf(options);
  return {
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: metadataOf(options),
    spec: {
      replicas,
      selector: { matchLabels: selector },
      // A new pod is ready before an old one ends.
      strategy: { type: 'RollingUpdate', rollingUpdate: { maxSurge: 1, maxUnavailable: 0 } },
      template: {
        metadata: { labels: selector },
        spec: {
          terminationGracePeriodSeconds: shutdownDelaySecs + exitTimeoutSecs + SPARE_SECONDS,
          automountServiceAccountToken: false,
          securityContext: {
            runAsNonRoot: true,
            runAsUser: USER,
            runAsGroup: USER,
            seccompProfile: { type: 'RuntimeDefault' },
          },
          topologySpreadConstraints: [
            {
              maxSkew: 1,
              topologyKey: 'kubernetes.io/hostname',
              whenUnsatisfiable: 'ScheduleAnyway',
              labelSelector: { matchLabels: selector },
            },
          ],
          containers: [container(options)],
          volumes: [{ name: 'tmp', emptyDir: {} }],
        },
      },
    },
  };
}

function container(options: DeploymentOptions): Yaml {
  const { image, httpPort, grpcPort, metricsPort, cpu, memory, startupSecs } = options;
  const probe = (path: string, failureThreshold: number) => ({
    httpGet: { path, port: 'http' },
    periodSeconds: PROBE_SECONDS,
    timeoutSeconds: PROBE_SECONDS,
    failureThreshold,
  });
  return {
    name: 'server',
    image,
    // Of the image's entry point, its init process.
    args: ['tstriton', 'serve', ...options.serveArgs],
    ports: [
      { name: 'http', containerPort: httpPort, protocol: 'TCP' },
      { name: 'grpc', containerPort: grpcPort, protocol: 'TCP' },
      { name: 'metrics', containerPort: metricsPort, protocol: 'TCP' },
    ],
    env: environment(options),
    resources: { requests: { cpu, memory }, limits: { memory } },
    // While models load nothing else is asked.
    startupProbe: probe('/v2/health/ready', Math.ceil(startupSecs / PROBE_SECONDS)),
    livenessProbe: probe('/v2/health/live', 6),
    readinessProbe: probe('/v2/health/ready', 1),
    securityContext: {
      allowPrivilegeEscalation: false,
      readOnlyRootFilesystem: true,
      capabilities: { drop: ['ALL'] },
    },
    volumeMounts: [{ name: 'tmp', mountPath: '/tmp' }],
  };
}

function environment(options: DeploymentOptions): Yaml {
  const { httpPort, grpcPort, metricsPort, shutdownDelaySecs, exitTimeoutSecs, tokenSecret, env } = options;
  const own = {
    TSTRITON_CONFIG_HTTP_PORT: String(httpPort),
    TSTRITON_CONFIG_GRPC_PORT: String(grpcPort),
    TSTRITON_CONFIG_METRICS_PORT: String(metricsPort),
    TSTRITON_CONFIG_SHUTDOWN_DELAY_SECS: String(shutdownDelaySecs),
    TSTRITON_CONFIG_EXIT_TIMEOUT_SECS: String(exitTimeoutSecs),
  };
  const token: readonly Yaml[] =
    tokenSecret === undefined
      ? []
      : [
          {
            name: 'TSTRITON_CONFIG_ACCESS_TOKEN',
            valueFrom: { secretKeyRef: { name: tokenSecret, key: 'token' } },
          },
        ];
  return [...Object.entries({ ...own, ...env }).map(([name, value]) => ({ name, value })), ...token];
}

export function service(options: DeploymentOptions): Yaml {
  const port = (name: string, number: number, appProtocol: string) => ({
    name,
    port: number,
    targetPort: name,
    protocol: 'TCP',
    appProtocol,
  });
  return {
    apiVersion: 'v1',
    kind: 'Service',
    metadata: metadataOf(options),
    spec: {
      type: 'ClusterIP',
      selector: selectorOf(options),
      ports: [
        port('http', options.httpPort, 'http'),
        // HTTP/2 without TLS.
        port('grpc', options.grpcPort, 'kubernetes.io/h2c'),
        port('metrics', options.metricsPort, 'http'),
      ],
    },
  };
}
