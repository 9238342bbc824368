// Bodies of POST …/infer: JSON with tensors behind it whose sizes may lie. Decoded whole, with pauses, and with the JSON of the one
// before; the binary tensors against a reader that JSON.parse tells the sizes. The first two bytes of an input are the length of the
// JSON, or nothing when they are 65535.
import { TritonError } from '../../../src/errors.js';
import { finishPaced } from '../../../src/pacing/paced-work.js';
import { decodeGenerateRequest } from '../../../src/protocol/http/decode-generate-request.js';
import { decodeInferRequest } from '../../../src/protocol/http/decode-infer-request.js';
import { KnownRequests } from '../../../src/protocol/http/known-requests.js';
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
    const decode = (
      known?: KnownRequests,
      given: { body: Buffer; headerLength?: string | undefined } = { body, headerLength },
    ) =>
      outcomeOf(() => {
        const form = finishPaced(
          decodeInferRequest({
            headerLength: undefined,
            ...given,
            modelVersion: '',
            maxInputSize: MAX_INPUT_SIZE,
            known,
          }),
        );
        return finishPaced(form.complete(MODEL, NO_SHARED_MEMORY)).request;
      });
    const text = (one: ReturnType<typeof decode>) => (one instanceof TritonError ? one.message : requestText(one));
    outcomeOf(() => {
      const form = finishPaced(decodeGenerateRequest({ body, modelVersion: '', maxInputSize: MAX_INPUT_SIZE }));
      return finishPaced(form.complete(MODEL, NO_SHARED_MEMORY));
    });
    const request = decode();
    const known = new KnownRequests();
    for (let i = 0; i < 2; i++) {
      const again = text(decode(known));
      must(text(request) === again, () => `${again}, without known requests ${text(request)}`);
    }
    for (const other of othersOf(body, length)) {
      const [first, second] = [text(decode(undefined, other)), text(decode(known, other))];
      must(first === second, () => `${second}, without known requests ${first}: ${other.body.toString('latin1')}`);
    }
    if (request instanceof TritonError) return false;
    const bytes = request.inputs.reduce((sum, { bytes: { byteLength } }) => sum + byteLength, 0);
    must(bytes <= 8 * body.length, () => `${bytes} bytes of tensors from ${body.length}`);
    if (length !== 0) checkBinary(body, length === WITHOUT_LENGTH ? body.length : length, request.inputs);
    return isTaken(request);
  },
};

const REPLACED = ['{}', '{"k":1}', '{"k":"}"}', '{"k":{"k":1}}', '{"k":1}}', '"8"', '"\\n"', '8', '"8","id":"9"', '{'];
const REPLACED_DATA = [
  '[1,1]',
  '[[1],[1]]',
  '[]',
  '[1,1]]',
  '["]","]]"]',
  '[1,1],"data":[2]',
  '[1\0]',
  '[true,-0.5e1]',
  '[',
];

/** Bodies that differ in an id, in parameters, those of tensors included, or in data. */
function* othersOf(body: Buffer, length: number): Generator<{ readonly body: Buffer; readonly headerLength?: string }> {
  const isAlone = length === WITHOUT_LENGTH;
  const json = body.toString('latin1', 0, isAlone ? body.length : length);
  for (const [i, match] of [...json.matchAll(/"(?:id|parameters|data)":/g)].slice(0, 8).entries()) {
    const start = match.index + match[0].length;
    const value = /^(?:"[^"]*"|\{[^{}]*\}|\[[^\]]*\]+|[^,}]*)/.exec(json.slice(start))![0];
    const choices = match[0] === '"data":' ? REPLACED_DATA : REPLACED;
    const replaced = choices[(i + body.length) % choices.length]!;
    const other = Buffer.from(json.slice(0, start) + replaced + json.slice(start + value.length), 'latin1');
    if (isAlone) yield { body: other };
    else yield { body: Buffer.concat([other, body.subarray(length)]), headerLength: String(other.length) };
  }
}

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
