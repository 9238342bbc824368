// What the callables suite, its server and its clients agree on: the models, their requests, and work that keeps a core
// busy for as long on every thread.

import { lengthDelimited, packedIntegers } from './protobuf-bytes.js';
import { binaryRequestOf, bytesOf, type HttpForm, IDS, jsonForm } from './tensor-wire.js';

/** Decoupled: answers `count` with so many responses, the whole numbers from 0. */
export const STREAM_MODEL = 'Stream';
/** Answers a chat with numbers from 0, as many as its message says. */
export const CHAT_MODEL = 'Chat';
/** Spins for `x` milliseconds. */
export const SPIN_MODEL = 'Spin';
/** Computes for each request, in one and in two instance threads. */
export const WORK_MODELS = ['Work1', 'Work2'] as const;
/** Return their input: in an instance thread, and in the thread that called `run()`. */
export const ECHO_MODEL = 'Echo';
export const ECHO_HERE_MODEL = 'EchoHere';

/** Of one value, [1,1]. */
export function valueRequest(value: number): HttpForm {
  return jsonForm({ inputs: [{ name: 'x', datatype: 'INT32', shape: [1, 1], data: [value] }] });
}

/** Throws unless a model has given the value back. */
export function checkValue(body: Buffer, value: number): void {
  const { outputs } = JSON.parse(body.toString()) as { readonly outputs?: readonly { readonly data?: unknown }[] };
  if (String(outputs?.[0]?.data) !== String(value)) throw new Error(`wrong answer: ${body.toString()}, not ${value}`);
}

/** As generate_stream takes it. */
export function generateRequest(count: number): HttpForm {
  return jsonForm({ x: count });
}

/** A request for a streamed chat. */
export function chatRequest(count: number): HttpForm {
  return jsonForm({ model: CHAT_MODEL, messages: [{ role: 'user', content: String(count) }], stream: true });
}

/** A ModelInferRequest for the decoupled model. */
export function grpcStreamRequest(count: number): Buffer {
  const raw = Buffer.alloc(4);
  raw.writeInt32LE(count);
  const tensor = [lengthDelimited(1, 'x'), lengthDelimited(2, 'INT32'), packedIntegers(3, [1, 1])];
  return Buffer.concat([
    lengthDelimited(1, STREAM_MODEL),
    lengthDelimited(5, Buffer.concat(tensor)),
    lengthDelimited(7, raw),
  ]);
}

export const TENSOR_ROWS = 32;
export const TENSOR_ROW_LENGTH = 150_528; // 3 x 224 x 224
export const TENSOR_BYTES = TENSOR_ROWS * TENSOR_ROW_LENGTH * 4;

/** The batch of images, in binary both ways. */
export function tensorRequest(): HttpForm {
  const values = Float32Array.from({ length: TENSOR_BYTES / 4 }, (_, i) => (i % 1021) / 4);
  const shape = [TENSOR_ROWS, TENSOR_ROW_LENGTH];
  return binaryRequestOf([{ name: 'x', shape, bytes: bytesOf(values) }], IDS[0]!);
}

/** Counted in steps, not in time: two threads on one core then take twice as long, instead of seeming to be two. */
export function work(steps: number): number {
  let state = 1;
  for (let i = 0; i < steps; i++) state = (Math.imul(state, 1_664_525) + 1_013_904_223) | 0;
  return state;
}

/** The number of steps that took `milliseconds` here at best. */
export function stepsFor(milliseconds: number): number {
  const steps = 4_000_000;
  let best = Infinity;
  for (let i = 0; i < 12; i++) {
    const begin = performance.now();
    work(steps);
    best = Math.min(best, performance.now() - begin);
  }
  return Math.round((steps * milliseconds) / best);
}

export function spin(milliseconds: number): void {
  const end = performance.now() + milliseconds;
  while (performance.now() < end);
}
