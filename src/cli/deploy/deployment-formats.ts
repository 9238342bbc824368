// The kinds of files that a deployment can be: each makes its files from the same options.

import type { DeploymentFile, DeploymentOptions } from './deployment-options.js';
import { kserveFiles } from './kserve.js';
import { kubernetesFiles } from './kubernetes.js';

export interface FormatOfDeployment {
  readonly files: (options: DeploymentOptions) => readonly DeploymentFile[];
  /** Where the server listens unless flags say so. */
  readonly ports: Readonly<Record<'httpPort' | 'grpcPort' | 'metricsPort', number>>;
  /** What a flag of it cannot mean, and why. */
  readonly refused: Readonly<Record<string, string>>;
}

const ITS_PORTS = 'KServe asks at 8080 and 9000';

export const DEPLOYMENT_FORMATS = {
  kubernetes: {
    files: kubernetesFiles,
    ports: { httpPort: 8000, grpcPort: 8001, metricsPort: 8002 },
    refused: { storageUri: 'it is KServe that fetches models: see --format kserve, or --models-claim' },
  },
  kserve: {
    files: kserveFiles,
    ports: { httpPort: 8080, grpcPort: 9000, metricsPort: 8002 },
    refused: {
      httpPort: ITS_PORTS,
      grpcPort: ITS_PORTS,
      modelsClaim: 'KServe mounts what --storage-uri names, as pvc://CLAIM/FOLDER',
      serviceMonitor: 'KServe names the metrics by annotations',
    },
  },
} as const satisfies Readonly<Record<string, FormatOfDeployment>>;

export type DeploymentFormat = keyof typeof DEPLOYMENT_FORMATS;
