// examples/voice-activity: a real network hears when somebody speaks in sound that the example makes.
import { expect, it } from 'vitest';

import { listen, spansOf } from '../../examples/voice-activity/client.js';
import { record } from '../../examples/voice-activity/recording.js';
import { bindVoiceActivity } from '../../examples/voice-activity/server.js';
import { startServer } from '../support/start-server.js';

it('hears from when to when somebody speaks, on many microphones at once', async () => {
  await using server = await startServer((triton) => bindVoiceActivity(triton));
  const recordings = Array.from({ length: 16 }, (_, microphone) => record(microphone, 6));
  const { heard, agreement } = await listen(server.grpc, recordings);
  expect(agreement).toBeGreaterThan(0.93);
  // The first of each: within a quarter of a second.
  const differences = recordings.map(({ speech }, microphone) =>
    Math.abs(heard[microphone]![0]!.from - speech[0]!.from),
  );
  expect(Math.max(...differences)).toBeLessThan(0.25);
  expect(new Set(recordings.map(({ speech }) => speech[0]!.from)).size).toBe(recordings.length);
});

it('joins what short gaps part, and leaves out what is too short for speech', () => {
  const pieces = (...runs: readonly (readonly [number, number])[]) =>
    runs.flatMap(([probability, count]) => Array.from({ length: count }, () => probability));
  const rounded = (probabilities: readonly number[]) =>
    spansOf(probabilities).map(({ from, to }) => [Math.round(from / 0.032), Math.round(to / 0.032)]);
  expect(rounded(pieces([0.1, 5], [0.9, 10], [0.4, 3], [0.1, 4]))).toEqual([[5, 18]]);
  expect(rounded(pieces([0.9, 10], [0.1, 9], [0.9, 10], [0.1, 10], [0.9, 10]))).toEqual([
    [0, 29],
    [39, 49],
  ]);
  expect(rounded(pieces([0.1, 5], [0.9, 3], [0.1, 20], [0.45, 10]))).toEqual([]);
});
