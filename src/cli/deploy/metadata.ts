// What the objects of a deployment are found by.

import type { DeploymentOptions } from './deployment-options.js';

/** What tells its pods from others. */
export function selectorOf({ name }: DeploymentOptions) {
  return { 'app.kubernetes.io/name': name };
}

export function metadataOf(options: DeploymentOptions) {
  return { name: options.name, namespace: options.namespace, labels: selectorOf(options) };
}
