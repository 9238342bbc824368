// The protocol's operations of one model: infer and the generate extension. Binary tensors have no schema.

import type { CompleteModelConfig, CompleteTensorSpec } from '../../model/complete-model-config.js';
import { DTYPES } from '../../tensor/dtype.js';
import { FAILED } from './plain-operation.js';
import { described, generateSchema, type Schema } from './tensor-schemas.js';

/** The paths with their items. HTTP has no infer for decoupled models, and generate for these only where they answer once. */
export function protocolPaths(
  model: CompleteModelConfig,
  idFor: (wanted: string) => string,
): (readonly [path: string, item: Schema])[] {
  const { name, decoupled } = model;
  const path = `/v2/models/${name}`;
  const request = generateRequest(model);
  const stream = post({ id: idFor(`${name}_generate_stream`), tag: name, request, answer: EVENTS });
  if (decoupled) return [[`${path}/generate_stream`, stream]];
  const infer = {
    id: idFor(`${name}_infer`),
    tag: name,
    request: inferRequest(model),
    answer: jsonOf(inferAnswer(model)),
  };
  const generate = { id: idFor(`${name}_generate`), tag: name, request, answer: jsonOf(generateAnswer(model)) };
  return [
    [`${path}/infer`, post(infer)],
    [`${path}/generate`, post(generate)],
    [`${path}/generate_stream`, stream],
  ];
}

interface Operation {
  readonly id: string;
  readonly tag: string;
  readonly request: Schema;
  readonly answer: Schema;
}

const EVENTS: Schema = { 'text/event-stream': { schema: { type: 'string' } } };

function jsonOf(schema: Schema): Schema {
  return { 'application/json': { schema } };
}

function post({ id, tag, request, answer }: Operation): Schema {
  return {
    post: {
      operationId: id,
      tags: [tag],
      requestBody: { required: true, content: jsonOf(request) },
      responses: { 200: { description: 'The outputs', content: answer }, ...FAILED },
    },
  };
}

function inferRequest({ inputs, outputs, maxBatchSize }: CompleteModelConfig): Schema {
  const tensors = inputs.map((input) => tensorSchema(input, maxBatchSize > 0));
  return {
    type: 'object',
    properties: {
      id: { type: 'string' },
      parameters: { $ref: '#/components/schemas/Parameters' },
      inputs: { type: 'array', ...(tensors.length > 0 && { items: { oneOf: tensors } }) },
      outputs: {
        type: 'array',
        items: {
          type: 'object',
          properties: { name: { enum: outputs.map(({ name }) => name) } },
          required: ['name'],
        },
      },
    },
    required: ['inputs'],
  };
}

function inferAnswer({ outputs, maxBatchSize }: CompleteModelConfig): Schema {
  const tensors = outputs.map((output) => tensorSchema(output, maxBatchSize > 0));
  return {
    type: 'object',
    properties: {
      id: { type: 'string' },
      model_name: { type: 'string' },
      model_version: { type: 'string' },
      outputs: { type: 'array', ...(tensors.length > 0 && { items: { oneOf: tensors } }) },
    },
    required: ['model_name', 'model_version', 'outputs'],
  };
}

/** A tensor of the protocol with its data as JSON, flat or nested. */
function tensorSchema(spec: CompleteTensorSpec, batched: boolean): Schema {
  const rank = spec.shape.length + (batched ? 1 : 0);
  return described(spec, {
    type: 'object',
    properties: {
      name: { const: spec.name },
      datatype: { const: DTYPES[spec.dtype].datatype },
      shape: { type: 'array', items: { type: 'integer', minimum: 0 }, minItems: rank, maxItems: rank },
      data: { type: 'array', items: {} },
    },
    required: ['name', 'datatype', 'shape'],
  });
}

function generateRequest({ inputs }: CompleteModelConfig): Schema {
  return {
    type: 'object',
    properties: Object.fromEntries(inputs.map((input) => [input.name, generateSchema(input)])),
    required: inputs.filter(({ optional }) => !optional).map(({ name }) => name),
    // All other members are parameters.
    additionalProperties: true,
  };
}

function generateAnswer({ outputs }: CompleteModelConfig): Schema {
  return {
    type: 'object',
    properties: {
      model_name: { type: 'string' },
      model_version: { type: 'string' },
      ...Object.fromEntries(outputs.map((output) => [output.name, generateSchema(output)])),
    },
    required: ['model_name', 'model_version'],
  };
}
