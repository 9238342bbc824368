// Bodies of POST …/infer: JSON with tensors behind it whose sizes may lie. Decoded whole, with pauses, and with the JSON of the one
// before; the binary tensors against a reader that JSON.parse tells the sizes. The first two bytes of an input are the length of the
// JSON, or nothing when they are 65535.
import { TritonError } from '../../../src/errors.js';
import { finishPaced } from '../../../src/model/paced-work.js';
import { decodeGenerateRequest } from '../../../src/protocol/http/decode-generate-request.js';
import { decodeInferRequest } from '../../../src/protocol/http/decode-infer-request.js';
import { KnownHeaders } from '../../../src/protocol/http/known-headers.js';
import { DATATYPE_BYTE_SIZE } from '../../../src/tensor/dtype.js';
import { NO_SHARED_MEMORY } from '../../support/no-shared-memory.js';
import type { Random } from '../../support/random-life/random.js';
import { type FuzzTarget, must } from '../fuzz-target.js';
import { isTaken, MODEL, outcomeOf, requestText, someInputs } from './fuzzed-model.js';
import { jsonText } from './json-texts.js';

const MAX_INPUT_SIZE = 1 << 20;
const WITHOUT_LENGTH = 0xffff;
const SHAPES = [[1, 1], [2, 2], [1], [0], [1, -1], [3, 2, 1], [4294967296, 4294967296], [1, 0], ['2'], [9, 1]];

function tensor(random: Random, { name, datatype, shape: right }: ReturnType<typeof someInputs>[number]) {
  const shape = random.chance(0.9) ? right : random.of(SHAPES);
  const count = Math.min(
    64,
    Math.max(
      0,
      [...shape].reduce<number>((product, dim) => product * Number(dim), 1),
    ),
  );
  if (random.chance(0.4)) {
    const element =
      datatype === 'BYTES' ? '"é"' : datatype === 'BOOL' ? 'true' : datatype === 'INT64' ? '-9007199254740993' : '1.5';
    const data = random.chance(0.9) ? `[${Array.from({ length: count }, () => element).join()}]` : jsonText(random);
    return {
      json: `{"name":"${name}","shape":${JSON.stringify(shape)},"datatype":"${datatype}","data":${data}}`,
      binary: Buffer.alloc(0),
    };
  }
  const element =
    datatype === 'BYTES' ? Buffer.from([1, 0, 0, 0, 0x41]) : Buffer.alloc(DATATYPE_BYTE_SIZE[datatype], 1);
  const binary = Buffer.concat(Array.from({ length: count }, () => element));
  const size = random.chance(0.95) ? binary.length : random.of([0, 1, -1, binary.length + 1, 4294967295]);
  const parameters = `{"binary_data_size":${size}}`;
  return {
    json: `{"name":"${name}","shape":${JSON.stringify(shape)},"datatype":"${datatype}","parameters":${parameters}}`,
    binary,
  };
}

function withLength(length: number, body: Buffer): Buffer {
  return Buffer.concat([Buffer.of(length & 255, length >> 8), body]);
}

function make(random: Random): Buffer {
  if (random.chance(0.05)) return withLength(0, Buffer.alloc(random.of([0, 4, 8, 9]), 1));
  const tensors = someInputs(random).map((input) => tensor(random, input));
  const members = [`"inputs":[${tensors.map(({ json }) => json).join()}]`];
  if (random.chance(0.3)) members.push('"id":"7"');
  if (random.chance(0.2))
    members.push(`"parameters":{"k":${jsonText(random, 4)},"priority":1,"binary_data_output":true}`);
  if (random.chance(0.3)) members.push('"outputs":[{"name":"y","parameters":{"binary_data":true,"classification":1}}]');
  if (random.chance(0.1)) members.push(`"${random.of(['id', 'inputs', 'other'])}":${jsonText(random, 2)}`);
  const json = Buffer.from(`{${members.join()}}`);
  const body = Buffer.concat([json, ...tensors.map(({ binary }) => binary)]);
  return withLength(body.length === json.length && random.chance(0.5) ? WITHOUT_LENGTH : json.length, body);
}

export const httpRequests: FuzzTarget = {
  about: 'JSON and binary tensors of HTTP requests',
  make,
  check(input) {
    const length = input.length < 2 ? WITHOUT_LENGTH : input.readUInt16LE(0);
    const body = input.subarray(2);
    const headerLength = length === WITHOUT_LENGTH ? undefined : String(length);
    const decode = (known?: KnownHeaders) =>
      outcomeOf(() => {
        const form = finishPaced(
          decodeInferRequest({ body, headerLength, modelVersion: '', maxInputSize: MAX_INPUT_SIZE, known }),
        );
        return finishPaced(form.complete(MODEL, NO_SHARED_MEMORY)).request;
      });
    outcomeOf(() => {
      const form = finishPaced(decodeGenerateRequest({ body, modelVersion: '', maxInputSize: MAX_INPUT_SIZE }));
      return finishPaced(form.complete(MODEL, NO_SHARED_MEMORY));
    });
    const request = decode();
    const known = new KnownHeaders();
    for (const again of [decode(known), decode(known)]) {
      const [first, second] = [request, again].map((one) =>
        one instanceof TritonError ? one.message : requestText(one),
      );
      must(first === second, () => `${second}, without known headers ${first}`);
    }
    if (request instanceof TritonError) return false;
    const bytes = request.inputs.reduce((sum, { bytes: { byteLength } }) => sum + byteLength, 0);
    must(bytes <= 8 * body.length, () => `${bytes} bytes of tensors from ${body.length}`);
    if (length !== 0) checkBinary(body, length === WITHOUT_LENGTH ? body.length : length, request.inputs);
    return isTaken(request);
  },
};

/** The binary tensors lie behind the JSON, one after the other. */
function checkBinary(body: Buffer, length: number, inputs: readonly { readonly bytes: Uint8Array }[]): void {
  let given: unknown;
  try {
    given = JSON.parse(body.toString('utf8', 0, length));
  } catch {
    // Ours takes more; see the target json.
    return;
  }
  const members = (
    given as { readonly inputs: readonly { readonly parameters?: { readonly binary_data_size?: number } }[] }
  ).inputs;
  // Equal names: JSON.parse has the last one.
  if (
    !Array.isArray(members) ||
    members.length !== inputs.length ||
    /"(inputs|parameters|binary_data_size)".*"\1"/s.test(JSON.stringify(members))
  )
    return;
  let at = length;
  for (const [i, member] of members.entries()) {
    const size = member?.parameters?.binary_data_size;
    if (typeof size !== 'number') continue;
    const { bytes } = inputs[i]!;
    must(body.subarray(at, at + size).equals(bytes), () => `input ${i} is not the ${size} bytes at ${at}`);
    at += size;
  }
}
