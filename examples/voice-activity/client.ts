// Sends the sound of many microphones to a running server, over one gRPC stream, piece by piece. Prints from when to when
// somebody speaks, and how well that agrees with the sound that was made.
//
//   node build/examples/voice-activity/client.js grpc://localhost:8001
import { ModelClient } from 'tstriton/client';

import { whenStarted } from '../when-started.js';
import { CONTEXT, PIECE, RATE, voiceActivity } from './model.js';
import { record, type Recording, type Span } from './recording.js';

/** Speech begins at the first probability and ends below the second. Shorter gaps and shorter sounds are left out. */
const BEGIN = 0.5;
const END = 0.35;
const SHORTEST_GAP = 0.3;
const SHORTEST_SPEECH = 0.1;
const PIECE_SECONDS = PIECE / RATE;

/** The probability of speech in each piece of each sound. The pieces with one number are sent one after the other. */
export async function detect(url: string, sounds: readonly Float32Array[]): Promise<number[][]> {
  await using client = new ModelClient(url, voiceActivity);
  await using stream = client.stream();
  const counts = sounds.map((sound) => sound.length / PIECE);
  const send = async () => {
    for (let piece = 0; piece < Math.max(...counts); piece++) {
      for (const [microphone, sound] of sounds.entries()) {
        if (piece >= counts[microphone]!) continue;
        await stream.send(
          { input: pieceOf(sound, piece) },
          {
            requestId: `${microphone} ${piece}`,
            sequence: { id: microphone + 1, start: piece === 0, end: piece + 1 === counts[microphone] },
          },
        );
      }
    }
    stream.end();
  };
  const probabilities: number[][] = sounds.map(() => []);
  const read = async () => {
    for await (const { requestId, outputs, error } of stream) {
      if (error !== undefined) throw error;
      const [microphone, piece] = requestId.split(' ').map(Number) as [number, number];
      probabilities[microphone]![piece] = outputs!.output.data[0]!;
    }
  };
  await Promise.all([send(), read()]);
  return probabilities;
}

/** A piece behind the end of the piece before it, as the network was trained. */
export function pieceOf(sound: Float32Array, piece: number): Float32Array {
  const end = (piece + 1) * PIECE;
  const input = new Float32Array(CONTEXT + PIECE);
  const from = Math.max(0, end - input.length);
  input.set(sound.subarray(from, end), input.length - (end - from));
  return input;
}

/** Makes spans of the probabilities of pieces. */
export function spansOf(probabilities: readonly number[]): Span[] {
  const spans: Span[] = [];
  let from: number | undefined;
  [...probabilities, 0].forEach((probability, piece) => {
    const now = piece * PIECE_SECONDS;
    if (from === undefined && probability >= BEGIN) from = now;
    if (from === undefined || probability >= END) return;
    const last = spans.at(-1);
    if (last !== undefined && from - last.to < SHORTEST_GAP) spans[spans.length - 1] = { from: last.from, to: now };
    else spans.push({ from, to: now });
    from = undefined;
  });
  return spans.filter((span) => span.to - span.from >= SHORTEST_SPEECH);
}

export interface VoiceActivitySummary {
  /** What was heard on each microphone. */
  readonly heard: readonly (readonly Span[])[];
  /** Share of the pieces in which somebody speaks and speech was heard, or neither. */
  readonly agreement: number;
  /** Seconds of sound that the server heard in a second. */
  readonly speed: number;
}

export async function listen(url: string, recordings: readonly Recording[]): Promise<VoiceActivitySummary> {
  const start = performance.now();
  const probabilities = await detect(
    url,
    recordings.map(({ sound }) => sound),
  );
  const seconds = (performance.now() - start) / 1000;
  const heard = probabilities.map(spansOf);
  let [agreeing, pieces] = [0, 0];
  recordings.forEach(({ speech }, microphone) => {
    for (let piece = 0; piece < probabilities[microphone]!.length; piece++) {
      const middle = (piece + 0.5) * PIECE_SECONDS;
      if (isWithin(speech, middle) === isWithin(heard[microphone]!, middle)) agreeing++;
      pieces++;
    }
  });
  return { heard, agreement: agreeing / pieces, speed: (pieces * PIECE_SECONDS) / seconds };
}

function isWithin(spans: readonly Span[], second: number): boolean {
  return spans.some(({ from, to }) => from <= second && second < to);
}

function textOf(spans: readonly Span[]): string {
  return spans.map(({ from, to }) => `${from.toFixed(1)}–${to.toFixed(1)} s`).join(', ');
}

await whenStarted(import.meta.url, async () => {
  const recordings = Array.from({ length: 64 }, (_, microphone) => record(microphone, 10));
  const { heard, agreement, speed } = await listen(process.argv[2] ?? 'grpc://localhost:8001', recordings);
  for (const microphone of [0, 1, 2, 3]) {
    console.log(`microphone ${microphone}: speech at ${textOf(recordings[microphone]!.speech)}`);
    console.log(`              heard at ${textOf(heard[microphone]!)}`);
  }
  const percent = (100 * agreement).toFixed(1);
  console.log(`${recordings.length} microphones, 10 s each: ${percent} % of the pieces of 32 ms are right,`);
  console.log(`${speed.toFixed(0)} s of sound heard in a second.`);
});
