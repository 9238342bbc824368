// Describes a server in OpenAPI 3.1 (https://spec.openapis.org/oas/v3.1.1): first the models' own routes, then the protocol's
// endpoints of each model.

import type { CompleteModelConfig } from '../../model/complete-model-config.js';
import { ERROR_RESPONSES, plainOperation } from './plain-operation.js';
import { protocolPaths } from './protocol-operations.js';
import type { Schema } from './tensor-schemas.js';

export interface DescribedServer {
  readonly name: string;
  readonly version: string;
  /** The models by their own routes. */
  readonly routes: ReadonlyMap<string, CompleteModelConfig>;
  /** The latest ready version of each model. */
  readonly models: readonly CompleteModelConfig[];
}

/** Plain data, which JSON.stringify takes. */
export function openApiDocument({ name, version, routes, models }: DescribedServer): Schema {
  const ids = new OperationIds();
  const own = [...routes].sort(([a], [b]) => (a < b ? -1 : 1));
  return {
    openapi: '3.1.0',
    info: { title: name, version },
    tags: models.map((model) => ({ name: model.name, ...(model.description && { description: model.description }) })),
    paths: {
      ...Object.fromEntries(own.map(([path, model]) => [path, { post: plainOperation(model, ids.take(model.name)) }])),
      ...Object.fromEntries(models.flatMap((model) => protocolPaths(model, (id) => ids.take(id)))),
    },
    components: { schemas: SCHEMAS, responses: ERROR_RESPONSES },
  };
}

const SCHEMAS: Readonly<Record<string, Schema>> = {
  Error: {
    type: 'object',
    properties: { error: { type: 'string', description: 'What was wrong, and what was expected' } },
    required: ['error'],
  },
  Parameters: {
    type: 'object',
    description: 'Parameters of the request, for the callable or the scheduler',
    additionalProperties: { type: ['string', 'number', 'boolean'] },
  },
};

/** Ids must differ, whatever the names of models. */
class OperationIds {
  readonly #taken = new Set<string>();

  take(wanted: string): string {
    let id = wanted;
    for (let i = 2; this.#taken.has(id); i++) id = `${wanted}_${i}`;
    this.#taken.add(id);
    return id;
  }
}
