// Tells for each piece of sound whether somebody speaks, with Silero's recurrent network. The server keeps the network's state for
// each microphone, and runs the pieces of many microphones in one batch.
//
//   node build/examples/voice-activity/server.js
import { createRequire } from 'node:module';
import { fileURLToPath, pathToFileURL } from 'node:url';

import { Triton } from 'tstriton';
import { onnx } from 'tstriton/onnx';

import { whenStarted } from '../when-started.js';
import { CONTEXT, PIECE, RATE, voiceActivity } from './model.js';

/** The network's file lies beside the package's entry. */
export function networkFile(): string {
  const entry = pathToFileURL(createRequire(import.meta.url).resolve('@ricky0123/vad-web'));
  return fileURLToPath(new URL('silero_vad_v5.onnx', entry));
}

export interface VoiceActivityOptions {
  /** Largest number of microphones whose pieces run together. */
  readonly maxBatchSize?: number;
}

export function bindVoiceActivity(triton: Triton, { maxBatchSize = 64 }: VoiceActivityOptions = {}): void {
  triton.bind(
    onnx(networkFile(), {
      modelName: voiceActivity.modelName,
      state: { state: 'stateN' },
      constants: { sr: RATE },
      // The network is small: more threads would wait for each other.
      threads: 1,
      shapes: { input: [-1, CONTEXT + PIECE] },
      // A microphone that is silent for so long begins anew.
      config: { maxBatchSize, sequenceBatching: { maxSequenceIdleMicroseconds: 10_000_000 } },
    }),
  );
}

await whenStarted(import.meta.url, async () => {
  const triton = new Triton();
  bindVoiceActivity(triton);
  await triton.serve();
});
