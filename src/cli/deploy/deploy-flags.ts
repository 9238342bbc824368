// The flags of `tstriton deploy`.

import type { DeploymentFormat } from './deployment-formats.js';
import type { DeploymentOptions } from './deployment-options.js';

/** Those without a default. */
type Optional =
  | 'namespace'
  | 'maxReplicas'
  | 'modelsClaim'
  | 'storageUri'
  | 'httpPort'
  | 'grpcPort'
  | 'metricsPort'
  | 'tokenSecret'
  | 'serviceMonitor';

type Given = { readonly [Name in Optional]?: Exclude<DeploymentOptions[Name], undefined> };

export interface DeployFlags extends Omit<DeploymentOptions, 'serveArgs' | Optional>, Given {
  readonly format: DeploymentFormat;
  readonly output?: string;
}
