// The kinds of files that a deployment can be: each makes its files from the same options.

import type { DeploymentFile, DeploymentOptions } from './deployment-options.js';
import { kubernetesFiles } from './kubernetes.js';

export const DEPLOYMENT_FORMATS = {
  kubernetes: kubernetesFiles,
} as const satisfies Readonly<Record<string, (options: DeploymentOptions) => readonly DeploymentFile[]>>;

export type DeploymentFormat = keyof typeof DEPLOYMENT_FORMATS;
