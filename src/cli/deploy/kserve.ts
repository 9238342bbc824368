// A runtime of KServe and, where a storage is named, the InferenceService that uses it. The files in deploy/kserve are made here.

import { container, gracePeriodSeconds, USER } from './container.js';
import type { DeploymentFile, DeploymentOptions } from './deployment-options.js';
import { metadataOf } from './metadata.js';
import { toYaml, type Yaml } from './to-yaml.js';

/** Where KServe puts the files that it has fetched. */
const MODELS = '/mnt/models';
/** The kind of model that an InferenceService asks for. */
const MODEL_FORMAT = 'tstriton';

export function kserveFiles(options: DeploymentOptions): readonly DeploymentFile[] {
  const runtime = { path: 'serving-runtime.yaml', content: toYaml(servingRuntime(options)) };
  if (options.storageUri === undefined) return [runtime];
  const service = inferenceService(options, options.storageUri);
  return [runtime, { path: 'inference-service.yaml', content: toYaml(service) }];
}

function servingRuntime(options: DeploymentOptions): Yaml {
  const served = container(options, { name: 'kserve-container', models: MODELS, probedPort: options.httpPort });
  return {
    apiVersion: 'serving.kserve.io/v1alpha1',
    kind: 'ServingRuntime',
    metadata: metadataOf(options),
    spec: {
      annotations: {
        'prometheus.kserve.io/port': String(options.metricsPort),
        'prometheus.kserve.io/path': '/metrics',
      },
      supportedModelFormats: [
        { name: MODEL_FORMAT, version: '1', autoSelect: true, priority: 1 },
        // Another runtime stays the choice for ONNX files unless an InferenceService names this one.
        { name: 'onnx', version: '1' },
      ],
      protocolVersions: ['v2', 'grpc-v2'],
      containers: [
        {
          ...served,
          // KServe fills in limits of its own where none are given.
          resources: { ...served.resources, limits: served.resources.requests },
          securityContext: { runAsNonRoot: true, runAsUser: USER, ...served.securityContext },
          volumeMounts: [{ name: 'temporary', mountPath: '/tmp' }],
        },
      ],
      volumes: [{ name: 'temporary', emptyDir: {} }],
    },
  };
}

function inferenceService(options: DeploymentOptions, storageUri: string): Yaml {
  const metadata = metadataOf(options);
  return {
    apiVersion: 'serving.kserve.io/v1beta1',
    kind: 'InferenceService',
    metadata: { ...metadata, annotations: { 'serving.kserve.io/deploymentMode': 'RawDeployment' } },
    spec: {
      predictor: {
        minReplicas: options.replicas,
        maxReplicas: options.maxReplicas ?? options.replicas,
        terminationGracePeriodSeconds: gracePeriodSeconds(options),
        model: {
          modelFormat: { name: MODEL_FORMAT },
          runtime: options.name,
          protocolVersion: 'v2',
          storageUri,
        },
      },
    },
  };
}
