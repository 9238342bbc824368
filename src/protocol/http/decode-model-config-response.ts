// Reads the parts of the answer to GET …/config that a client needs.

import type { CompleteTensorSpec } from '../../model/complete-model-config.js';
import { dtypeOf } from '../../tensor/dtype.js';
import { jsonElements } from '../json/json-parser.js';
import type { JsonValue } from '../json/json-value.js';
import { datatypeOfConfig, type ModelSignature } from '../model-signature.js';
import { arrayMember, expectBoolean, expectUnsigned, member, stringMember, unparsable } from './json-members.js';
import { parseResponseJson, readResponse } from './parse-response-json.js';

/** Throws INTERNAL when the body is not a model configuration. */
export function decodeModelConfigResponse(body: Buffer): ModelSignature {
  const json = parseResponseJson(body);
  return readResponse(() => ({
    name: stringMember(json, 'name'),
    inputs: readTensors(json, 'input'),
    outputs: readTensors(json, 'output'),
    maxBatchSize: Number(expectUnsigned(member(json, 'max_batch_size') ?? 0, 'max_batch_size')),
    decoupled: readDecoupled(json),
  }));
}

function readDecoupled(json: JsonValue): boolean {
  const policy = member(json, 'model_transaction_policy');
  const decoupled = policy === undefined ? undefined : member(policy, 'decoupled');
  return decoupled !== undefined && expectBoolean(decoupled, 'decoupled');
}

function readTensors(json: JsonValue, key: 'input' | 'output'): readonly CompleteTensorSpec[] {
  if (member(json, key) === undefined) return [];
  return jsonElements(arrayMember(json, key)).map((tensor) => {
    const datatype = datatypeOfConfig(stringMember(tensor, 'data_type'));
    const optional = member(tensor, 'optional');
    return {
      name: stringMember(tensor, 'name'),
      datatype,
      dtype: dtypeOf(datatype),
      shape: jsonElements(arrayMember(tensor, 'dims')).map(readDim),
      optional: optional !== undefined && expectBoolean(optional, 'optional'),
    };
  });
}

// Triton prints int64 as numbers here; protobuf's own JSON has them as strings.
function readDim(value: JsonValue): number {
  const dim = typeof value === 'string' && /^-?[0-9]+$/.test(value) ? Number(value) : value;
  if (Number.isSafeInteger(dim) && (dim as number) >= -1) return dim as number;
  throw unparsable('dims', 'attempt to access JSON non-signed-integer as signed-integer');
}
