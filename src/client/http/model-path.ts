// The path of a model below /v2.

import type { ModelReference } from '../transport.js';

export function modelPath({ modelName, modelVersion }: ModelReference): string {
  const version = modelVersion === '' ? '' : `/versions/${modelVersion}`;
  return `/models/${encodeURIComponent(modelName)}${version}`;
}
