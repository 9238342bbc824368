// Checks the elements of BYTES inputs, in Triton's words. That takes time in proportion to their bytes, so it is paced.

import { isUtf8 } from 'node:buffer';

import { invalidArg } from '../errors.js';
import type { CompleteModelConfig, CompleteTensorSpec } from '../model/complete-model-config.js';
import type { InferTensor, ModelInferRequest } from '../model/exchange.js';
import { isAsciiPaced, isUtf8Paced } from '../pacing/paced-bytes.js';
import { Pace, type PacedWork } from '../pacing/paced-work.js';
import { BytesScan } from '../tensor/raw.js';
import { elementCount } from '../tensor/shape.js';
import { RequestElements } from './element-room.js';
import { refuse } from './refusals.js';
import type { Room } from './room.js';
import type { ValidatedInputs } from './validate-request.js';

/** The inputs whose elements are to be counted; undefined when there are none. */
export function inputsToCount({ inputs }: ValidatedInputs): readonly InferTensor[] | undefined {
  let counted: InferTensor[] | undefined;
  for (let i = 0; i < inputs.length; i++) {
    const input = inputs[i];
    if (input?.datatype === 'BYTES') (counted ??= []).push(input);
  }
  return counted;
}

/**
 * Checks the elements of BYTES inputs, and takes room for them, whose bytes it returns. Throws INVALID_ARG, and UNAVAILABLE when
 * there is no room now.
 */
export function* validateContents(
  request: ModelInferRequest,
  inputs: readonly InferTensor[],
  { config, room }: { readonly config: CompleteModelConfig; readonly room?: Room | undefined },
): PacedWork<number> {
  const pace = new Pace();
  let bytes = 0;
  for (const input of inputs) bytes += input.bytes.byteLength;
  const elements = new RequestElements(room, bytes);
  for (const input of inputs) {
    const spec = config.inputs.find(({ name }) => name === input.name)!;
    yield* validateBytes(request, input, { spec, model: config.name, pace, elements });
  }
  return elements.take();
}

interface BytesCheck {
  readonly spec: CompleteTensorSpec;
  readonly model: string;
  readonly pace: Pace;
  readonly elements: RequestElements;
}

/** The elements are as many as the shape says. */
function* validateBytes(
  request: ModelInferRequest,
  input: InferTensor,
  { spec, model, pace, elements }: BytesCheck,
): PacedWork<void> {
  const dtype = spec.dtype === 'string' ? 'string' : 'bytes';
  const scan = new BytesScan(input.bytes);
  while (!scan.advance(ELEMENTS_AT_ONCE)) {
    elements.check(scan.count, dtype);
    if (pace.spend(ELEMENTS_AT_ONCE * BYTES_OF_AN_ELEMENT)) yield;
  }
  const { fault } = scan;
  if (fault?.kind === 'incomplete length') {
    throw refuse(
      request,
      `incomplete string length indicator for inference input '${spec.name}' for model '${model}', expecting 4 bytes but only ` +
        `${fault.available} bytes available. Please make sure the string length indicator is in one buffer.`,
    );
  }
  if (fault?.kind === 'incomplete element') {
    throw invalidArg(
      `incomplete string data for inference input '${spec.name}', expecting string of length ${fault.expected} but only ${fault.available} bytes available`,
    );
  }
  const count = elementCount(input.shape);
  if (scan.count < count) {
    throw refuse(
      request,
      `expected ${count} string elements for inference input '${spec.name}' for model '${model}', got ${scan.count}`,
    );
  }
  if (scan.count > count) {
    throw refuse(
      request,
      `unexpected number of string elements ${scan.count} for inference input '${spec.name}' for model '${model}', expecting ${count}`,
    );
  }
  if (pace.spend((scan.count % ELEMENTS_AT_ONCE) * BYTES_OF_AN_ELEMENT)) yield;
  elements.add(count, dtype);
  if (dtype === 'string') yield* validateUtf8(request, input, { spec, pace });
}

const ELEMENTS_AT_ONCE = 8192;
/** What finding an element takes, as so many bytes. */
const BYTES_OF_AN_ELEMENT = 2;

function* validateUtf8(
  request: ModelInferRequest,
  { bytes }: InferTensor,
  { spec, pace }: Pick<BytesCheck, 'spec' | 'pace'>,
): PacedWork<void> {
  if (yield* isAsciiPaced(bytes, pace)) return;
  // Each element by itself: two halves of a character in neighbouring elements are not text.
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  for (let offset = 0; offset < bytes.byteLength;) {
    const length = view.getUint32(offset, true);
    offset += 4;
    const text = bytes.subarray(offset, offset + length);
    if (!(length < SHORT_TEXT ? isUtf8(text) : yield* isUtf8Paced(text, pace))) {
      throw refuse(
        request,
        `inference input '${spec.name}' holds strings, but an element is not valid UTF-8; declare it as 'bytes' to take any bytes`,
      );
    }
    offset += length;
    if (pace.spend(BYTES_OF_A_TEXT + Math.min(length, SHORT_TEXT))) yield;
  }
}

/** Shorter ones are looked at in one go. */
const SHORT_TEXT = 4096;
/** What a look at a text takes, however short it is, as so many bytes. */
const BYTES_OF_A_TEXT = 32;
