// The server's descriptions of itself and of its models, as plain data in the field names of the protocol. HTTP answers with this
// data as JSON, and gRPC with the message of that JSON, so both agree.

import type { CompleteModelConfig } from '../model/complete-model-config.js';
import type { RepositoryModel } from '../model/repository-model.js';
import { modelConfigJson } from '../protocol/model-config-json.js';
import { modelListJson } from '../protocol/model-list-json.js';
import { modelMetadata } from '../protocol/model-metadata.js';
import { openApiDocument } from '../protocol/openapi/openapi-document.js';
import { statisticsJson } from '../protocol/statistics-json.js';
import { whenHere, type Later, type ServedCore } from './served-core.js';

/** An empty model or version stands for any. */
type Describe = (server: ServedCore, model: string, version: string) => Later<object>;

export const DESCRIPTIONS = {
  'server metadata': ({ name, version, extensions }) => ({ name, version, extensions }),
  openapi: (server) => whenHere(server.models.index(true), (ready) => openApiOf(server, ready)),
  'model list': (server) => whenHere(server.models.index(false), modelListJson),
  'model metadata': (server, model, version) => {
    const { config, versions } = server.modelMetadata(model, version);
    return modelMetadata(config, versions);
  },
  'model config': (server, model, version) => modelConfigJson(server.resolve(model, version).config),
  statistics: (server, model, version) => whenHere(server.statistics(model, version), statisticsJson),
} as const satisfies Readonly<Record<string, Describe>>;

/** Of each model the latest ready version is described, and of each route the version that answers it. */
function openApiOf(server: ServedCore, ready: readonly RepositoryModel[]): object {
  const config = (model: string, version: string) => configOf(server, model, version);
  const names = [...new Set(ready.map(({ name }) => name))];
  const routes = Array.from(server.routes, ([path, { model, version }]) => [path, config(model, version)] as const);
  return openApiDocument({
    name: server.name,
    version: server.version,
    models: names.map((name) => config(name, '')).filter((model) => model !== undefined),
    routes: new Map(routes.flatMap(([path, model]) => (model === undefined ? [] : [[path, model]]))),
  });
}

/** Undefined for a model that is not ready. */
function configOf(server: ServedCore, model: string, version: string): CompleteModelConfig | undefined {
  return server.isModelReady(model, version) ? server.resolve(model, version).config : undefined;
}
