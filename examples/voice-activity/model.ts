// What the detector takes and gives, for the server and for the client's types.
import { defineModel } from 'tstriton';

/** Samples in a second. */
export const RATE = 16_000;
/** Samples in a piece of 32 ms. */
export const PIECE = 512;
/** Samples of the piece before that go in front of each piece: 4 ms. */
export const CONTEXT = 64;

export const voiceActivity = defineModel({
  modelName: 'VoiceActivity',
  inputs: { input: { dtype: 'float32', shape: [CONTEXT + PIECE] } },
  outputs: { output: { dtype: 'float32', shape: [1] } },
  strict: true,
});
