// Replays the recordings of Triton's sequence batcher on the engine, and holds what comes of them against what was recorded.
import { describe, expect, it } from 'vitest';

import { recordedOutcome, readSequences, type SequenceCase, type SequenceOutcome } from './sequence-cases.js';
import { BEYOND_THE_ENGINE, changed, REFUSED, SEQUENCE_RULES, type SequenceChanges } from './sequence-rules.js';
import { sequenceModel, simulateSequences } from './sequence-simulator.js';

/** How far a recorded moment may be from ours: its machine took time for everything, and that adds up. */
const NEAR_MS = 60;

// The second file was recorded to check what the first one had taught.
const CASES = ['scenarios', 'more-scenarios'].flatMap((file) => readSequences<SequenceCase>(file));
const CHANGES = new Map<string, SequenceChanges>(SEQUENCE_RULES.flatMap(({ cases }) => Object.entries(cases)));
const played = CASES.filter(({ name }) => !(name in REFUSED) && !BEYOND_THE_ENGINE.test(name));

describe('recorded sequences', () => {
  it.each(played)('come out as recorded, under the rules: $name', async (testCase) => {
    const ours = await simulateSequences(testCase);
    const seen = testCase.seen === undefined ? testCase.seen_varies! : [testCase.seen];
    const recorded = seen.map((each) => recordedOutcome(each, testCase));
    const change = CHANGES.get(testCase.name);
    const same = recorded.find((each) => differences(ours, each).length === 0);
    // A rule about what is as recorded would hide what changes.
    expect(same !== undefined).toBe(change === undefined);
    expect(differences(ours, same ?? changed(recorded[0]!, change!))).toEqual([]);
  });

  it.each(Object.entries(REFUSED))('refuses a configuration that has no sound meaning: %s', (name, text) => {
    const { config } = CASES.find((testCase) => testCase.name === name)!;
    expect(() => sequenceModel(config)).toThrow(text);
  });

  it('has rules for recorded scenarios only', () => {
    const names = new Set(CASES.map(({ name }) => name));
    const ruled = [...CHANGES.keys(), ...Object.keys(REFUSED)];
    expect(ruled.filter((name) => !names.has(name))).toEqual([]);
    expect(new Set(ruled).size).toBe(ruled.length);
  });
});

function differences(ours: SequenceOutcome, expected: SequenceOutcome): string[] {
  const lines: string[] = [];
  const batches = ({ executions }: SequenceOutcome) => executions.map(({ batch }) => batch).join('; ');
  if (batches(ours) === batches(expected)) {
    expected.executions.forEach(({ batch, start, end }, index) => {
      const own = ours.executions[index]!;
      if (!isNear(own.start, start) || !isNear(own.end, end))
        lines.push(`${batch}: expected ${start}-${end}, got ${own.start}-${own.end}`);
    });
  } else {
    lines.push(`executions: expected ${batches(expected)}, got ${batches(ours)}`);
  }
  for (const id of new Set([...Object.keys(expected.answers), ...Object.keys(ours.answers)])) {
    const [own, wanted] = [ours.answers[id], expected.answers[id]];
    if (wanted?.text === 'none' && own === undefined) continue;
    if (own?.text !== wanted?.text || !isNear(own?.at, wanted?.at))
      lines.push(`${id}: expected ${wanted?.text} at ${wanted?.at}, got ${own?.text} at ${own?.at}`);
  }
  for (const what of ['streams', 'probes', 'warnings', 'counts'] as const) {
    if (what === 'counts' && expected.counts === undefined) continue;
    const [own, wanted] = [comparable(ours[what]), comparable(expected[what])];
    if (own !== wanted) lines.push(`${what}: expected ${wanted}, got ${own}`);
  }
  return lines;
}

function isNear(a = 0, b = 0): boolean {
  return Math.abs(a - b) <= NEAR_MS;
}

/** Without the order of members, and without counts of nothing. */
function comparable(value: unknown): string {
  if (Array.isArray(value)) return JSON.stringify(value);
  const members = Object.entries(value ?? {}).filter(([, member]) => member !== 0);
  return JSON.stringify(Object.fromEntries(members.sort(([a], [b]) => (a < b ? -1 : 1))));
}
