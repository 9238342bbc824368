// Decodes a ModelInferResponse from its protobuf bytes, for clients. Raw contents become views of the message. Servers other than
// Triton may answer with typed contents, which are converted.

import { TritonError } from '../../errors.js';
import type { InferTensor, ModelInferResponse } from '../../model/exchange.js';
import { finishPaced } from '../../pacing/paced-work.js';
import type { Parameters } from '../../model/parameters.js';
import { isDatatype } from '../../tensor/dtype.js';
import { WireReader } from '../protobuf/wire-reader.js';
import { LENGTH_DELIMITED } from '../protobuf/wire-types.js';
import { type ParameterMap, readParameter, setParameter } from './infer-parameters.js';
import type { TensorContents } from './tensor-contents.js';
import { readTensorMessage, type TensorMessage } from './tensor-message.js';

/** An output before its data is found. */
interface OutputMessage extends TensorMessage {
  contents: TensorContents | undefined;
}

const reader = new WireReader('response');
const UNLIMITED = { rank: Infinity, tensorParameters: Infinity };

/**
 * Decodes a response. Throws INTERNAL when the bytes are not a ModelInferResponse or have no clear meaning. The tensors are views
 * of `bytes`, which must not change any more.
 */
export function decodeInferResponse(bytes: Uint8Array): ModelInferResponse {
  reader.start(bytes);
  try {
    return readResponse();
  } finally {
    reader.release();
  }
}

function readResponse(): ModelInferResponse {
  let modelName = '';
  let modelVersion = '';
  let id = '';
  let parameters: ParameterMap | undefined;
  const messages: OutputMessage[] = [];
  const raw: Uint8Array[] = [];
  while (reader.position < reader.limit) {
    const tag = reader.tag();
    switch (tag) {
      case (1 << 3) | LENGTH_DELIMITED:
        modelName = reader.name();
        break;
      case (2 << 3) | LENGTH_DELIMITED:
        modelVersion = reader.name();
        break;
      case (3 << 3) | LENGTH_DELIMITED:
        id = reader.string();
        break;
      case (4 << 3) | LENGTH_DELIMITED:
        readParameter(reader, (parameters ??= new Map()));
        break;
      case (5 << 3) | LENGTH_DELIMITED:
        messages.push(readOutput());
        break;
      case (6 << 3) | LENGTH_DELIMITED: {
        const length = reader.length();
        raw.push(reader.bytes.subarray(reader.position, reader.position + length));
        reader.position += length;
        break;
      }
      default:
        reader.skip(tag);
    }
  }
  const outputs = messages.map((message, index) => toTensor(message, raw[index]));
  return { modelName, modelVersion, id, parameters: plainParameters(parameters), outputs };
}

function readOutput(): OutputMessage {
  const output: OutputMessage = { name: '', datatype: '', shape: [], contents: undefined };
  output.contents = readTensorMessage(reader, output, UNLIMITED)?.contents;
  return output;
}

function toTensor({ name, datatype, shape, contents }: OutputMessage, raw: Uint8Array | undefined): InferTensor {
  if (!isDatatype(datatype)) {
    throw new TritonError('INTERNAL', `output '${name}' of the response has unknown datatype '${datatype}'`);
  }
  if (raw !== undefined) return { name, datatype, shape, bytes: raw };
  if (contents === undefined) {
    throw new TritonError(
      'INTERNAL',
      `output '${name}' of the response has no data: expected an entry of raw_output_contents`,
    );
  }
  try {
    finishPaced(contents.scan(reader));
    const bytes = finishPaced(contents.toRaw(reader, datatype, () => `output tensor '${name}'`));
    return { name, datatype, shape, bytes };
  } catch (error) {
    throw new TritonError('INTERNAL', TritonError.from(error).message, { cause: error });
  }
}

function plainParameters(entries: ParameterMap | undefined): Parameters | undefined {
  if (entries === undefined) return undefined;
  const parameters: Record<string, Parameters[string]> = {};
  for (const [name, entry] of entries) if (entry.kind !== 'unset') setParameter(parameters, name, entry.value);
  return parameters;
}
