// What the server tells of itself and of its models, as plain data in the field names of the protocol: HTTP answers it as JSON,
// gRPC as the message of that JSON, so that both agree.

import { modelConfigJson } from '../protocol/model-config-json.js';
import { modelMetadata } from '../protocol/model-metadata.js';
import { statisticsJson } from '../protocol/statistics-json.js';
import { whenHere, type Later, type ServedCore } from './served-core.js';

/** '' stands for any. */
type Describe = (server: ServedCore, model: string, version: string) => Later<object>;

export const DESCRIPTIONS = {
  'server metadata': ({ name, version, extensions }) => ({ name, version, extensions }),
  'model metadata': (server, model, version) => {
    const { config, versions } = server.modelMetadata(model, version);
    return modelMetadata(config, versions);
  },
  'model config': (server, model, version) => modelConfigJson(server.resolve(model, version).config),
  statistics: (server, model, version) => whenHere(server.statistics(model, version), statisticsJson),
} as const satisfies Readonly<Record<string, Describe>>;
