// The operation of a model's own route.

import type { CompleteModelConfig, CompleteTensorSpec } from '../../model/complete-model-config.js';
import { onlyFile } from '../plain-json/only-file.js';
import { isSentAsPart, partSchema, plainSchema, type Schema } from './tensor-schemas.js';

const PARAMETERS = 'parameters';
const TEXT = { schema: { type: 'string' } };

export const ERROR_RESPONSES: Readonly<Record<string, Schema>> = {
  Error: {
    description: 'The request is refused, or has failed',
    content: { 'application/json': { schema: { $ref: '#/components/schemas/Error' } } },
  },
};

/** The response to a failure, with whatever status. */
export const FAILED: Schema = { default: { $ref: '#/components/responses/Error' } };

export function plainOperation(model: CompleteModelConfig, operationId: string): Schema {
  const { name, inputs, description, decoupled } = model;
  const file = onlyFile(model).input;
  const parts = objectOf(inputs, partSchema);
  const encoding = inputs.filter((input) => !isSentAsPart(input)).map(({ name: part }) => [part, JSON_PART] as const);
  const content: Record<string, Schema> = {
    'application/json': { schema: objectOf(inputs, (input) => plainSchema(input, 'input')) },
    'multipart/form-data': {
      schema: parts,
      ...(encoding.length > 0 && { encoding: Object.fromEntries(encoding) }),
    },
  };
  if (file !== undefined) content['application/octet-stream'] = { schema: partSchema({ ...file, shape: [1] }) };
  const answer = {
    'application/json': { schema: outputsOf(model) },
  };
  return {
    operationId,
    tags: [name],
    ...(description && { summary: description }),
    requestBody: { required: true, content },
    responses: {
      200: {
        description: decoupled ? 'A stream of objects with the outputs' : 'The outputs',
        content: decoupled ? { 'text/event-stream': TEXT, 'application/x-ndjson': TEXT } : answer,
      },
      ...FAILED,
    },
  };
}

const JSON_PART: Schema = { contentType: 'application/json' };

function objectOf(inputs: readonly CompleteTensorSpec[], schemaOf: (input: CompleteTensorSpec) => Schema): Schema {
  return {
    type: 'object',
    properties: {
      // An input of that name hides the parameters.
      [PARAMETERS]: { $ref: '#/components/schemas/Parameters' },
      ...Object.fromEntries(inputs.map((input) => [input.name, schemaOf(input)])),
    },
    required: inputs.filter(({ optional }) => !optional).map(({ name }) => name),
    additionalProperties: false,
  };
}

/** A callable may leave outputs out, unless the model is strict. */
function outputsOf({ outputs, strict }: CompleteModelConfig): Schema {
  return {
    type: 'object',
    properties: Object.fromEntries(outputs.map((output) => [output.name, plainSchema(output, 'output')])),
    ...(strict && { required: outputs.map(({ name }) => name) }),
  };
}
