// The flags of `tstriton deploy`.

import type { DeploymentFormat } from './deployment-formats.js';
import type { DeploymentOptions } from './deployment-options.js';

export interface DeployFlags extends Omit<DeploymentOptions, 'serveArgs' | 'namespace' | 'tokenSecret'> {
  readonly namespace?: string;
  readonly tokenSecret?: string;
  readonly format: DeploymentFormat;
  readonly output?: string;
}
