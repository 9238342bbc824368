// Silero's voice detector, a recurrent network as it is published: 64 microphones at once, each a sequence of its own. Every answer
// is what onnxruntime gives for that microphone alone.
import { readFileSync } from 'node:fs';

import { InferenceSession, Tensor as OrtTensor } from 'onnxruntime-node';
import { beforeAll, describe, expect, it } from 'vitest';

import { Tensor } from 'tstriton';
import { ModelClient } from 'tstriton/client';

import { detect, pieceOf } from '../../examples/voice-activity/client.js';
import { PIECE, RATE, voiceActivity } from '../../examples/voice-activity/model.js';
import { record } from '../../examples/voice-activity/recording.js';
import { bindVoiceActivity, networkFile } from '../../examples/voice-activity/server.js';
import { modelRepository } from '../support/model-repository.js';
import { startServer, type RunningServer } from '../support/start-server.js';

const MICROPHONES = 64;
/** Microphones stop one after the other, the first after so many pieces. */
const FEWEST_PIECES = 24;
const sounds = Array.from({ length: MICROPHONES }, (_, microphone) =>
  record(microphone, 4).sound.slice(16 * PIECE, (16 + FEWEST_PIECES + (microphone % 9)) * PIECE),
);
/** onnxruntime adds up the rows of a batch in another order than one row. */
const ROUNDING = 1e-5;

async function detectAlone(session: InferenceSession, sound: Float32Array): Promise<number[]> {
  const sr = new OrtTensor('int64', BigInt64Array.of(BigInt(RATE)), []);
  let state = new OrtTensor('float32', new Float32Array(2 * 128), [2, 1, 128]);
  const probabilities: number[] = [];
  for (let piece = 0; piece < sound.length / PIECE; piece++) {
    const values = pieceOf(sound, piece);
    const input = new OrtTensor('float32', values, [1, values.length]);
    const { output, stateN } = await session.run({ input, state, sr });
    state = stateN as typeof state;
    probabilities.push((output!.data as Float32Array)[0]!);
  }
  return probabilities;
}

/** The same pieces, each microphone sending its next one when it has its answer. */
async function detectOneByOne(url: string): Promise<number[][]> {
  await using client = new ModelClient(url, voiceActivity);
  const listen = async (sound: Float32Array, microphone: number) => {
    const count = sound.length / PIECE;
    const probabilities: number[] = [];
    for (let piece = 0; piece < count; piece++) {
      const sequence = { id: `microphone ${microphone}`, start: piece === 0, end: piece + 1 === count };
      const { output } = await client.inferSample({ input: pieceOf(sound, piece) }, { sequence });
      probabilities.push(output.data[0]!);
    }
    return probabilities;
  };
  return await Promise.all(sounds.map(listen));
}

async function rowsOfBatch({ http }: RunningServer): Promise<number> {
  const answer = await fetch(`${http}/v2/models/${voiceActivity.modelName}/stats`);
  const { model_stats: models } = (await answer.json()) as {
    readonly model_stats: readonly { readonly inference_count: number; readonly execution_count: number }[];
  };
  return models[0]!.inference_count / models[0]!.execution_count;
}

/** Infinity where answers are missing. */
function largestDifference(heard: readonly (readonly number[])[], alone: readonly (readonly number[])[]): number {
  const differences = alone.flatMap((own, microphone) =>
    own.map((probability, piece) => Math.abs(probability - (heard[microphone]![piece] ?? Infinity))),
  );
  return Math.max(...differences);
}

describe("Silero's voice detector", () => {
  let alone: number[][];

  beforeAll(async () => {
    const session = await InferenceSession.create(networkFile(), { intraOpNumThreads: 1 });
    alone = [];
    for (const sound of sounds) alone.push(await detectAlone(session, sound));
    await session.release();
  });

  it('gives each microphone answers of its own', () => {
    // So answers of another microphone, or of another piece, would not do.
    const values = alone.flat();
    expect(new Set(values.map((value) => Math.round(value / ROUNDING))).size).toBeGreaterThan(values.length / 2);
    expect(values.filter((value) => value > 0.5).length).toBeGreaterThan(values.length / 5);
    expect(values.filter((value) => value < 0.5).length).toBeGreaterThan(values.length / 5);
  });

  it.each([{ serverThread: true }, { serverThread: false }])('hears 64 microphones on one stream, %o', async (mode) => {
    await using server = await startServer((triton) => bindVoiceActivity(triton), mode);
    expect(largestDifference(await detect(server.grpc, sounds), alone)).toBeLessThan(ROUNDING);
    expect(await rowsOfBatch(server)).toBeGreaterThan(8);
  });

  it.each([{ serverThread: true }, { serverThread: false }])('hears 64 clients that take turns, %o', async (mode) => {
    await using server = await startServer((triton) => bindVoiceActivity(triton), mode);
    expect(largestDifference(await detectOneByOne(server.http), alone)).toBeLessThan(ROUNDING);
    expect(await rowsOfBatch(server)).toBeGreaterThan(8);
  });

  it('hears as Triton would serve it from a repository: without a batch axis, and with the rate as an input', async () => {
    const config = `
      max_batch_size: 0
      input { name: "input" data_type: TYPE_FP32 dims: [ 1, -1 ] }
      input { name: "sr" data_type: TYPE_INT64 dims: [ 1 ] reshape { } }
      output { name: "output" data_type: TYPE_FP32 dims: [ 1, 1 ] }
      sequence_batching {
        max_sequence_idle_microseconds: 60000000
        oldest { max_candidate_sequences: 8 }
        state { input_name: "state" output_name: "stateN" data_type: TYPE_FP32 dims: [ 2, 1, 128 ] }
      }`;
    const { path } = modelRepository({ 'vad/1/model.onnx': readFileSync(networkFile()), 'vad/config.pbtxt': config });
    await using server = await startServer(() => undefined, { modelRepository: path });
    await using client = new ModelClient(server.grpc, 'vad');
    const few = sounds.slice(0, 4);
    const heard = await Promise.all(
      few.map(async (sound, microphone) => {
        const probabilities: number[] = [];
        for (let piece = 0; piece < sound.length / PIECE; piece++) {
          const values = pieceOf(sound, piece);
          const input = new Tensor('float32', values, [1, values.length]);
          const sequence = { id: microphone + 1, start: piece === 0, end: piece + 1 === sound.length / PIECE };
          const { output } = await client.inferSample({ input, sr: BigInt64Array.of(BigInt(RATE)) }, { sequence });
          probabilities.push((output!.data as Float32Array)[0]!);
        }
        return probabilities;
      }),
    );
    expect(largestDifference(heard, alone.slice(0, 4))).toBeLessThan(ROUNDING);
  });
});
