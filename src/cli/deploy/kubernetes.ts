// The objects of a server in Kubernetes. The files in deploy/kubernetes are made here, with the options in their test.

import { container, gracePeriodSeconds, USER } from './container.js';
import type { DeploymentFile, DeploymentOptions } from './deployment-options.js';
import { metadataOf, selectorOf } from './metadata.js';
import { horizontalPodAutoscaler, podDisruptionBudget, serviceMonitor } from './kubernetes-companions.js';
import { toYaml, type Yaml } from './to-yaml.js';

const MODELS = '/models';

export function kubernetesFiles(options: DeploymentOptions): readonly DeploymentFile[] {
  const objects: readonly (readonly [string, Yaml])[] = [
    ['deployment', deployment(options)],
    ['service', service(options)],
    ['pod-disruption-budget', podDisruptionBudget(options)],
    ...(options.maxReplicas === undefined
      ? []
      : [['horizontal-pod-autoscaler', horizontalPodAutoscaler(options, options.maxReplicas)] as const]),
    ...(options.serviceMonitor ? [['service-monitor', serviceMonitor(options)] as const] : []),
  ];
  return objects.map(([name, object]) => ({ path: `${name}.yaml`, content: toYaml(object) }));
}

export function deployment(options: DeploymentOptions): Yaml {
  const { replicas, maxReplicas, modelsClaim } = options;
  const selector = selectorOf(options);
  const claim =
    modelsClaim === undefined
      ? []
      : [{ name: 'models', persistentVolumeClaim: { claimName: modelsClaim, readOnly: true } }];
  return {
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: metadataOf(options),
    spec: {
      // How many there are is the autoscaler's to say, where there is one.
      replicas: maxReplicas === undefined ? replicas : undefined,
      selector: { matchLabels: selector },
      // A new server is ready before an old one is asked to stop.
      strategy: { type: 'RollingUpdate', rollingUpdate: { maxUnavailable: 0, maxSurge: 1 } },
      template: {
        metadata: { labels: selector },
        spec: {
          terminationGracePeriodSeconds: gracePeriodSeconds(options),
          automountServiceAccountToken: false,
          securityContext: {
            runAsNonRoot: true,
            runAsUser: USER,
            runAsGroup: USER,
            fsGroup: USER,
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
          containers: [
            {
              ...container(options, { name: 'tstriton', models: MODELS, probedPort: 'http' }),
              ports: [
                { name: 'http', containerPort: options.httpPort },
                { name: 'grpc', containerPort: options.grpcPort },
                { name: 'metrics', containerPort: options.metricsPort },
              ],
              volumeMounts: [
                ...claim.map(({ name }) => ({ name, mountPath: MODELS, readOnly: true })),
                { name: 'temporary', mountPath: '/tmp' },
              ],
            },
          ],
          volumes: [...claim, { name: 'temporary', emptyDir: {} }],
        },
      },
    },
  };
}

export function service(options: DeploymentOptions): Yaml {
  const port = (name: string, number: number, appProtocol: string) => ({
    name,
    port: number,
    targetPort: name,
    appProtocol,
  });
  return {
    apiVersion: 'v1',
    kind: 'Service',
    metadata: metadataOf(options),
    spec: {
      selector: selectorOf(options),
      ports: [
        port('http', options.httpPort, 'http'),
        // HTTP/2 without TLS, for what balances single requests.
        port('grpc', options.grpcPort, 'kubernetes.io/h2c'),
        port('metrics', options.metricsPort, 'http'),
      ],
    },
  };
}
