// What stands beside a Deployment: how many servers there are, how few there may be, and who looks at their metrics.

import type { DeploymentOptions } from './deployment-options.js';
import { metadataOf, selectorOf } from './metadata.js';
import type { Yaml } from './to-yaml.js';

/** Requests that wait in the queues of a server, on average, before there is another one. */
const PENDING_REQUESTS = 16;
/** Queues come and go faster than servers should. */
const STABILIZATION_SECONDS = 300;

/** A metrics adapter has to offer the metric. */
export function horizontalPodAutoscaler(options: DeploymentOptions, maxReplicas: number): Yaml {
  return {
    apiVersion: 'autoscaling/v2',
    kind: 'HorizontalPodAutoscaler',
    metadata: metadataOf(options),
    spec: {
      scaleTargetRef: { apiVersion: 'apps/v1', kind: 'Deployment', name: options.name },
      minReplicas: options.replicas,
      maxReplicas,
      metrics: [
        {
          type: 'Pods',
          pods: {
            metric: { name: 'nv_inference_pending_request_count' },
            target: { type: 'AverageValue', averageValue: String(PENDING_REQUESTS) },
          },
        },
      ],
      behavior: { scaleDown: { stabilizationWindowSeconds: STABILIZATION_SECONDS } },
    },
  };
}

export function podDisruptionBudget(options: DeploymentOptions): Yaml {
  return {
    apiVersion: 'policy/v1',
    kind: 'PodDisruptionBudget',
    metadata: metadataOf(options),
    spec: { maxUnavailable: 1, selector: { matchLabels: selectorOf(options) } },
  };
}

/** For a Prometheus operator. */
export function serviceMonitor(options: DeploymentOptions): Yaml {
  return {
    apiVersion: 'monitoring.coreos.com/v1',
    kind: 'ServiceMonitor',
    metadata: metadataOf(options),
    spec: {
      selector: { matchLabels: selectorOf(options) },
      endpoints: [{ port: 'metrics', path: '/metrics', interval: '15s' }],
    },
  };
}
