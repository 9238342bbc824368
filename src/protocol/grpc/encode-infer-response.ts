// A ModelInferResponse as one gRPC frame, by itself or as the message of a stream. Data is always raw: exactly one
// raw_output_contents entry for each output.

import type { TritonError } from '../../errors.js';
import type { ModelInferResponse } from '../../model/exchange.js';
import { LENGTH_DELIMITED, VARINT } from '../protobuf/wire-types.js';
import { parametersBound, writeParameters } from './infer-parameters.js';
import { tensorBound, writeTensor } from './tensor-message.js';
import { ERROR_CODE } from './stream-error-code.js';
import { LENGTH_BOUND, stringBound, WireWriter } from './wire-writer.js';

const MODEL_NAME = (1 << 3) | LENGTH_DELIMITED;
const MODEL_VERSION = (2 << 3) | LENGTH_DELIMITED;
const ID = (3 << 3) | LENGTH_DELIMITED;
const PARAMETERS = (4 << 3) | LENGTH_DELIMITED;
const OUTPUTS = (5 << 3) | LENGTH_DELIMITED;
const RAW_OUTPUT_CONTENTS = (6 << 3) | LENGTH_DELIMITED;

/** The tag of ModelStreamInferResponse's error message. */
const ERROR_MESSAGE = (1 << 3) | LENGTH_DELIMITED;
const INFER_RESPONSE = (2 << 3) | LENGTH_DELIMITED;

const FINAL_RESPONSE = 'triton_final_response';
/** Most bytes that the parameter `triton_final_response` takes. */
const FINAL_RESPONSE_BOUND = 2 * LENGTH_BOUND + FINAL_RESPONSE.length + 2;

const writer = new WireWriter();

/**
 * The chunks of the frame, prefix included. There is one chunk, unless tensors are large: each of these is a chunk of its own,
 * not copied. Throws INVALID_ARG when the message is larger than gRPC allows.
 */
export function encodeInferResponse(response: ModelInferResponse): readonly Uint8Array[] {
  writer.begin(responseBound(response));
  writeResponse(response, undefined);
  return writer.finish();
}

/** The same as a message of a stream. `final`: whether it is the last response to its request. */
export function encodeStreamResponse(response: ModelInferResponse, final: boolean): readonly Uint8Array[] {
  writer.beginWrapped(responseBound(response) + FINAL_RESPONSE_BOUND);
  writeResponse(response, final);
  return writer.finishWrapped(INFER_RESPONSE);
}

const CANCELLED = 'the request was cancelled';
const NO_TEXT = 'the request failed without a message';

type StreamError = Pick<TritonError, 'code' | 'message'>;

export interface FailedRequest {
  readonly id: string;
  /** The model that failed to answer; undefined for a refused request. */
  readonly model: { readonly name: string; readonly version: string } | undefined;
  /** Whether the client wants the error's code. */
  readonly wantsCode: boolean;
}

/** The failure of one request as a message of a stream. It has a text in any case: clients take an error without one for an answer. */
export function encodeStreamError(error: StreamError, { id, model, wantsCode }: FailedRequest): readonly Uint8Array[] {
  const message = error.message || (error.code === 'CANCELLED' ? CANCELLED : NO_TEXT);
  const parameters = wantsCode ? { [ERROR_CODE]: error.code } : {};
  let bound =
    stringBound(message) + LENGTH_BOUND + stringBound(id) + FINAL_RESPONSE_BOUND + parametersBound(parameters);
  if (model !== undefined) bound += stringBound(model.name) + stringBound(model.version);
  writer.begin(bound);
  writer.string(ERROR_MESSAGE, message);
  const start = writer.openMessage(INFER_RESPONSE);
  if (model !== undefined) writeText(MODEL_NAME, model.name);
  if (model !== undefined) writeText(MODEL_VERSION, model.version);
  writeText(ID, id);
  writeParameters(writer, PARAMETERS, parameters);
  if (model !== undefined) writeFinalResponse(true);
  writer.closeMessage(start);
  return writer.finish();
}

function responseBound({ modelName, modelVersion, id, parameters, outputs }: ModelInferResponse): number {
  let bound = stringBound(modelName) + stringBound(modelVersion) + stringBound(id);
  if (parameters !== undefined) bound += parametersBound(parameters);
  for (let i = 0; i < outputs.length; i++) bound += tensorBound(outputs[i]!);
  return bound;
}

function writeResponse(response: ModelInferResponse, final: boolean | undefined): void {
  const { parameters, outputs } = response;
  writeText(MODEL_NAME, response.modelName);
  writeText(MODEL_VERSION, response.modelVersion);
  writeText(ID, response.id);
  if (parameters !== undefined) writeParameters(writer, PARAMETERS, parameters);
  if (final !== undefined) writeFinalResponse(final);
  for (let i = 0; i < outputs.length; i++) writeTensor(writer, OUTPUTS, outputs[i]!);
  for (let i = 0; i < outputs.length; i++) writer.rawField(RAW_OUTPUT_CONTENTS, outputs[i]!.bytes);
}

function writeText(tag: number, text: string): void {
  if (text !== '') writer.string(tag, text);
}

function writeFinalResponse(final: boolean): void {
  const entry = writer.openMessage(PARAMETERS);
  writer.string((1 << 3) | LENGTH_DELIMITED, FINAL_RESPONSE);
  const value = writer.openMessage((2 << 3) | LENGTH_DELIMITED);
  writer.byte((1 << 3) | VARINT);
  writer.byte(final ? 1 : 0);
  writer.closeMessage(value);
  writer.closeMessage(entry);
}
