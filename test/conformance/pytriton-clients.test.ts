import { beforeAll, describe, expect, it } from 'vitest';
import { readCases } from './cases.js';
import { CALLS, COMING } from './client-calls.js';
import type { ClientCase } from './client-cases.js';
import { replayClientFile } from './pytriton-replays.js';
import { inBothModes, MODES, type ModeReplays } from './replays.js';
import { shortcomings } from './unread-members.js';

describe("our client compared with PyTriton's five", () => {
  let replays: ModeReplays;

  beforeAll(async () => {
    replays = await inBothModes(replayClientFile);
  });

  it.each(MODES)('finds the same, under the rules, %s', (mode) => {
    const { clients } = replays[mode];
    expect(clients?.cases).toBe(225);
    expect(shortcomings('clients', clients)).toBe('');
  });

  it('is asked for what each case is about, or lists it as coming', () => {
    const recorded = new Set(readCases<ClientCase>('pytriton/clients.jsonl').map(({ name }) => name));
    const listed = [...Object.keys(CALLS), ...Object.keys(COMING)];
    // Cases that are data by themselves, and one of which no call of ours could be made.
    const others = ['url', 'bad-arguments', 'infer-positional-and-named'];
    expect([...listed, ...others].toSorted()).toEqual([...recorded].toSorted());
  });
});
