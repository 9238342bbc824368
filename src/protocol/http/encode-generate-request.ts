// A ModelInferRequest as the body of POST …/generate_stream, for clients: inputs as flat lists by their names, and parameters
// beside them. Shapes are not sent, so a tensor must have the shape that the server gives its elements.

import { invalidArg, TritonError } from '../../errors.js';
import { finishPaced, Pace } from '../../pacing/paced-work.js';
import { traitsOf } from '../../tensor/dtype.js';
import { elementCount, formatShape } from '../../tensor/shape.js';
import type { ClassifiedRequest } from '../classified-request.js';
import { borrowWriter, giveBackWriter, type JsonWriter, writeParameter } from '../json/json-writer.js';
import type { ModelSignature } from '../model-signature.js';
import { writeTensorData } from './write-tensor-data.js';

const ELSEWHERE = 'generate_stream carries no such thing, a gRPC stream does';
const PARAMETERS = 'parameters';

/** Throws UNSUPPORTED for content that the body cannot carry, and INVALID_ARG for parameters that the server would take for inputs. */
export function encodeGenerateRequest(request: ClassifiedRequest, model: ModelSignature): readonly Buffer[] {
  const writer = borrowWriter();
  try {
    refuseUnsaid(request, model);
    writer.raw('{"id":').string(request.id);
    writeInputs(writer, request, model);
    writeParameters(writer, request, model);
    return writer.raw('}').takeChunks();
  } finally {
    giveBackWriter(writer);
  }
}

/** Refuses requests with options that the extension only has parameters for. The server ignores such parameters. */
function refuseUnsaid(
  { priority, timeoutMicroseconds, sequence, classes }: ClassifiedRequest,
  { name, inputs }: ModelSignature,
): void {
  // The server reads this member as the request's id, and requires a text.
  if (inputs.some((input) => input.name === 'id'))
    throw new TritonError('UNSUPPORTED', `input 'id' of model '${name}': ${ELSEWHERE}`);
  const given = Object.entries({ priority, serverTimeoutMicroseconds: timeoutMicroseconds, sequence, classes }).find(
    ([, value]) => value !== undefined && value !== 0,
  )?.[0];
  if (given === undefined) return;
  throw new TritonError('UNSUPPORTED', `${given} of a request to decoupled model '${name}': ${ELSEWHERE}`);
}

function writeInputs(writer: JsonWriter, { inputs }: ClassifiedRequest, model: ModelSignature): void {
  const pace = new Pace();
  for (const input of inputs) {
    const { name, datatype, shape } = input;
    const what = `input '${name}' of model '${model.name}'`;
    if (traitsOf(datatype).kind === 'half')
      throw new TritonError('UNSUPPORTED', `${what} is ${datatype}: ${ELSEWHERE}`);
    const declared = model.inputs.find((spec) => spec.name === name)!.shape;
    const understood = generatedShape(declared, model.maxBatchSize, elementCount(shape));
    if (understood === undefined || understood.some((dim, axis) => dim !== shape[axis])) {
      const as = understood === undefined ? 'nothing' : formatShape(understood);
      throw new TritonError(
        'UNSUPPORTED',
        `${what} has shape ${formatShape(shape)}, which the server would take for ${as}: ${ELSEWHERE}`,
      );
    }
    writer.raw(',').string(name).raw(':[');
    finishPaced(writeTensorData(writer, input, pace, 'input'));
    writer.raw(']');
  }
}

function writeParameters(writer: JsonWriter, request: ClassifiedRequest, model: ModelSignature): void {
  const members = Object.entries(request.parameters ?? {});
  if (members.length === 0) return;
  const names = model.inputs.map(({ name }) => name);
  const taken = members.find(([name]) => names.includes(name));
  if (taken !== undefined) {
    throw invalidArg(`parameter '${taken[0]}' is called as an input of model '${model.name}': ${ELSEWHERE}`);
  }
  // An input may have this name.
  const isNested = !names.includes(PARAMETERS);
  if (!isNested && members.some(([name]) => name === 'id')) {
    throw new TritonError(
      'UNSUPPORTED',
      `parameter 'id' beside an input '${PARAMETERS}' of model '${model.name}': ${ELSEWHERE}`,
    );
  }
  writer.raw(',');
  if (isNested) writer.string(PARAMETERS).raw(':{');
  members.forEach(([name, value], index) => {
    if (index > 0) writer.raw(',');
    writer.string(name).raw(':');
    writeParameter(writer, value);
  });
  if (isNested) writer.raw('}');
}

// The shape of a flat list of elements, for a declared shape: the generate extension sends no shapes. The rule is Triton's
// (server/src/http_server.cc, GenerateRequestClass). The innermost open axis takes what the fixed axes leave, and other open axes
// are 1.

/** Undefined when `count` elements do not fit. `declared` is without the batch axis. */
export function generatedShape(
  declared: readonly number[],
  maxBatchSize: number,
  count: number,
): readonly number[] | undefined {
  const target = maxBatchSize > 0 ? [-1, ...declared] : [...declared];
  let rest = count;
  for (const dim of target) if (dim !== -1) rest /= dim;
  const open = target.lastIndexOf(-1);
  if (!Number.isInteger(rest) || (open < 0 && rest !== 1)) return undefined;
  return target.map((dim, axis) => (dim !== -1 ? dim : axis === open ? rest : 1));
}
