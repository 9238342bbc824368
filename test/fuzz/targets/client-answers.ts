// Bodies and events that HTTP clients get from a server that need not be ours: an answer or an error of ours, and no more memory than
// the bytes say. The first two bytes of an input are the length of the JSON, or nothing when they are 65535.
import { TritonError } from '../../../src/errors.js';
import { decodeGenerateEvent } from '../../../src/protocol/http/decode-generate-event.js';
import { decodeInferResponse } from '../../../src/protocol/http/decode-infer-response.js';
import { decodeModelConfigResponse } from '../../../src/protocol/http/decode-model-config-response.js';
import { KnownHeaders } from '../../../src/protocol/http/known-headers.js';
import { type FuzzTarget, must } from '../fuzz-target.js';
import { MODEL, outcomeOf } from './fuzzed-model.js';
import { jsonText } from './json-texts.js';

const CODES = ['INTERNAL', 'UNKNOWN', 'UNSUPPORTED'];

export const clientAnswers: FuzzTarget = {
  about: 'answers and events that HTTP clients read',
  make(random) {
    if (random.chance(0.2))
      return Buffer.concat([Buffer.of(0xff, 0xff), Buffer.from(`{"model_name":"m","y":${jsonText(random, 3)}}`)]);
    const size = random.of([0, 4, 8]);
    const extra = random.chance(0.3) ? `,"parameters":{"k":${jsonText(random, 4)}}` : '';
    const data = random.chance(0.5) ? `"parameters":{"binary_data_size":${size}}` : `"data":${jsonText(random, 4)}`;
    const json = `{"model_name":"m","model_version":"1"${extra},"outputs":[{"name":"y","datatype":"FP32","shape":[1,${size / 4}],${data}}]}`;
    return Buffer.concat([Buffer.of(json.length & 255, json.length >> 8), Buffer.from(json), Buffer.alloc(size, 1)]);
  },
  check(input) {
    const length = input.length < 2 ? 0xffff : input.readUInt16LE(0);
    const body = input.subarray(2);
    const header = length === 0xffff ? undefined : String(length);
    outcomeOf(() => decodeGenerateEvent(body, MODEL, 1), CODES);
    outcomeOf(() => decodeModelConfigResponse(body), CODES);
    const known = new KnownHeaders();
    const [first, again, third] = [undefined, known, known].map((one) =>
      outcomeOf(() => decodeInferResponse(body, header, one), CODES),
    );
    for (const other of [again!, third!])
      must(textOf(first!) === textOf(other), () => `${textOf(other)}, without known headers ${textOf(first!)}`);
    if (first instanceof TritonError) return false;
    const bytes = first!.outputs.reduce((sum, output) => sum + output.bytes.byteLength, 0);
    must(bytes <= 8 * body.length, () => `${bytes} bytes of tensors from ${body.length}`);
    return true;
  },
};

function textOf(outcome: ReturnType<typeof decodeInferResponse> | TritonError): string {
  if (outcome instanceof TritonError) return outcome.message;
  return JSON.stringify(outcome, (_, value: unknown) => (typeof value === 'bigint' ? `${value}n` : value));
}
