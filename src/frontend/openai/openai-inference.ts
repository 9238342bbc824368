// Runs models for the OpenAI API. A request names its model; the texts become the tensors of that model.

import type { ResponseSink } from '../../core/response-sink.js';
import type { ResolvedModel } from '../../core/model-entry.js';
import { invalidArg, TritonError } from '../../errors.js';
import type { CompleteModelConfig } from '../../model/complete-model-config.js';
import { type InferTensor, ownMemory } from '../../model/exchange.js';
import type { OpenAiEndpoint } from '../../model/openai.js';
import { copyPaced } from '../../pacing/paced-bytes.js';
import { Pace, type PacedWork } from '../../pacing/paced-work.js';
import type { CompleteRequest, RequestForm } from '../../protocol/request-form.js';
import { completeRequest, type RequestHeaders } from '../complete-request.js';
import { headerTexts } from '../http/header-texts.js';
import { Stages } from '../inference.js';
import type { ServedCore } from '../served-core.js';
import { FieldError } from './openai-errors.js';
import { OPENAI_PATHS } from './openai-routes.js';

/** Throws NOT_FOUND for an unknown model, INVALID_ARG when another endpoint serves it. */
export function resolveOpenAi(server: ServedCore, name: string, endpoint?: OpenAiEndpoint): ResolvedModel {
  const model = resolved(server, name);
  const { openai } = model.config;
  if (openai === undefined) {
    throw new FieldError('model', `the model '${name}' is not served at the OpenAI API`, NOT_FOUND);
  }
  if (endpoint !== undefined && openai !== endpoint) {
    const message = `the model '${name}' is served at ${OPENAI_PATHS[openai]}, not at ${OPENAI_PATHS[endpoint]}`;
    throw new FieldError('model', message);
  }
  return model;
}

const NOT_FOUND = { code: 'NOT_FOUND', apiCode: 'model_not_found' } as const;

function resolved(server: ServedCore, name: string): ResolvedModel {
  try {
    return server.resolve(name, '');
  } catch (thrown) {
    const error = TritonError.from(thrown);
    if (error.code !== 'NOT_FOUND') throw error;
    throw new FieldError('model', `the model '${name}' does not exist`, NOT_FOUND);
  }
}

/** The inputs of one request. */
export interface OpenAiInputs {
  readonly model: string;
  readonly endpoint: OpenAiEndpoint;
  /** Input names with a UTF-8 text for each row. */
  readonly texts: Readonly<Record<string, readonly Uint8Array[]>>;
}

export interface OpenAiRun {
  readonly server: ServedCore;
  readonly headers: RequestHeaders;
  readonly sink: ResponseSink;
}

/** Starts a request, which the result can cancel. The sink is ended also when the request cannot begin. */
export function startOpenAi(inputs: OpenAiInputs, { server, headers, sink }: OpenAiRun): Stages {
  const stages = new Stages();
  const resolve = () => resolveOpenAi(server, inputs.model, inputs.endpoint);
  const rules = { server, forwarding: undefined, protocol: 'HTTP', texts: headerTexts, resolve } as const;
  stages.pace(completeRequest(formOf(inputs), headers, rules), {
    done: ({ request, load }) => stages.begin(() => server.infer(request, sink, load)),
    failed: (error) => sink.fail(TritonError.from(error), true),
  });
  return stages;
}

// eslint-disable-next-line require-yield
function* formOf({ texts }: OpenAiInputs): PacedWork<RequestForm> {
  return {
    *complete(config: CompleteModelConfig): PacedWork<CompleteRequest> {
      const inputs: InferTensor[] = [];
      const pace = new Pace();
      for (const [name, rows] of Object.entries(texts)) {
        const tensor = yield* textTensor(name, rows, config, pace);
        if (tensor !== undefined) inputs.push(tensor);
      }
      const none = { id: '', parameters: undefined, outputs: [], priority: 0, timeoutMicroseconds: 0 };
      // A recording goes to its callable without another copy.
      const memory = inputs.flatMap(({ bytes }) => ownMemory(bytes) ?? []);
      return { request: { modelName: config.name, modelVersion: '', inputs, memory, ...none } };
    },
  };
}

/** Returns undefined for an input that the model does not have. Such inputs are optional. */
function* textTensor(
  name: string,
  rows: readonly Uint8Array[],
  config: CompleteModelConfig,
  pace: Pace,
): PacedWork<InferTensor | undefined> {
  const spec = config.inputs.find((input) => input.name === name);
  if (spec === undefined) return undefined;
  const bytes = Buffer.allocUnsafe(rows.reduce((sum, row) => sum + 4 + row.length, 0));
  let offset = 0;
  for (const row of rows) {
    offset = bytes.writeUInt32LE(row.length, offset);
    yield* copyPaced(row, bytes, offset, pace);
    offset += row.length;
  }
  const shape = spec.shape.map(() => 1);
  return { name, datatype: 'BYTES', shape: config.maxBatchSize > 0 ? [rows.length, ...shape] : shape, bytes };
}

/** The text of an output; undefined when the model gave none. Throws INVALID_ARG for an output of several texts. */
export function textOutput(outputs: readonly InferTensor[], name: string): string | undefined {
  return textBytes(outputs, name)?.toString('utf8');
}

/** The same as UTF-8. A model of bytes may give a character in pieces. */
export function textBytes(outputs: readonly InferTensor[], name: string): Buffer | undefined {
  for (let i = 0; i < outputs.length; i++) {
    const { name: given, bytes } = outputs[i]!;
    if (given !== name) continue;
    const view = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    if (view.length < 4 || view.readUInt32LE(0) + 4 !== view.length) {
      throw invalidArg(`the model gave several texts as '${name}', expected one`);
    }
    return view.subarray(4);
  }
  return undefined;
}
