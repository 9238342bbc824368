// Decodes one event of generate_stream, for clients: a response, or the error text of the request. Outputs come as flat lists, or
// as one element, without shapes. The shapes follow from the declaration and from the number of requested rows.

import { TritonError } from '../../errors.js';
import type { InferTensor, ModelInferResponse } from '../../model/exchange.js';
import { formatShape } from '../../tensor/shape.js';
import { JsonParser } from '../json/json-parser.js';
import { membersOf } from '../json/json-shape.js';
import { JsonArray, JsonObject } from '../json/json-value.js';
import type { ModelSignature } from '../model-signature.js';
import { expectString, member } from './json-members.js';
import { readResponse } from './parse-response-json.js';
import { readTensorData } from './read-tensor-data.js';

const EVENT = membersOf({ limit: Infinity, what: 'members' });

/**
 * `rows`: the requested rows of the batch; undefined for tensors without a batch axis. Throws the error in the event, as UNKNOWN
 * because the event has no code. Throws INTERNAL for a malformed event, and UNSUPPORTED for outputs whose shape is unknown.
 */
export function decodeGenerateEvent(data: Buffer, model: ModelSignature, rows: number | undefined): ModelInferResponse {
  const json = readResponse(() => {
    const parser = new JsonParser(data, {}, EVENT);
    parser.advance(Infinity);
    return parser.value;
  });
  if (!(json instanceof JsonObject))
    throw new TritonError('INTERNAL', 'malformed response of the server: an event that is no JSON object');
  const error = errorIn(json);
  if (error !== undefined) throw new TritonError('UNKNOWN', error);
  const text = (key: string): string => {
    const value = member(json, key);
    return value === undefined ? '' : readResponse(() => expectString(value, key));
  };
  const outputs: InferTensor[] = [];
  for (const spec of model.outputs) {
    const index = json.keys.indexOf(spec.name);
    if (index < 0) continue;
    const { name, datatype } = spec;
    const value = json.values[index]!;
    const count = value instanceof JsonArray ? value.length : 1;
    const shape = shapeOf(spec.shape, rows, { count, what: `output '${name}' of model '${model.name}'` });
    const place = { bytes: data, start: json.places[2 * index]!, end: json.places[2 * index + 1]! };
    // Copied, because the reader may share its memory with others.
    const bytes =
      count === 0
        ? new Uint8Array()
        : readResponse(() => new Uint8Array(readTensorData(place, { datatype, count, name })));
    outputs.push({ name, datatype, shape, bytes });
  }
  return {
    modelName: text('model_name'),
    modelVersion: text('model_version'),
    id: '',
    parameters: undefined,
    outputs,
  };
}

/** The text of an error event. An error has no members beside it; an output may have the same name. */
function errorIn(json: JsonObject): string | undefined {
  if (json.has('model_name')) return undefined;
  const error = json.get('error');
  return error === undefined ? undefined : readResponse(() => expectString(error, 'error'));
}

function shapeOf(
  declared: readonly number[],
  rows: number | undefined,
  { count, what }: { readonly count: number; readonly what: string },
): readonly number[] {
  const shape = rows === undefined ? declared : [rows, ...declared];
  const open = shape.filter((dim) => dim === -1).length;
  if (open > 1) {
    throw new TritonError(
      'UNSUPPORTED',
      `${what} has ${count} elements and shape ${formatShape(shape)}: only a gRPC stream tells how they lie`,
    );
  }
  const fixed = shape.reduce((product, dim) => (dim === -1 ? product : product * dim), 1);
  const rest = open === 0 ? 1 : fixed === 0 ? 0 : count / fixed;
  if (!Number.isInteger(rest) || (open === 0 && count !== fixed) || (open > 0 && rest * fixed !== count)) {
    throw new TritonError('INTERNAL', `${what} has ${count} elements, expected shape ${formatShape(shape)}`);
  }
  return shape.map((dim) => (dim === -1 ? rest : dim));
}
