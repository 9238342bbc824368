import { beforeAll, describe, expect, it } from 'vitest';
import { readCases } from './cases.js';
import { DECORATOR_RULES } from './decorator-rules.js';
import type { DecoratorCase } from './pytriton-cases.js';
import { replayDecorators } from './replay-decorators.js';
import { summarize, type Replay } from './rules.js';

describe("what decorators make of calls compared with PyTriton's", () => {
  let replay: Replay;

  beforeAll(async () => {
    replay = await replayDecorators(readCases<DecoratorCase>('pytriton/decorators.jsonl'), DECORATOR_RULES);
  });

  it('agrees, under the rules', () => {
    expect(replay.cases).toBe(166);
    expect(summarize(replay)).toBe('');
  });

  it('needs every one of the rules', () => {
    expect(replay.rules.filter(({ cases }) => cases === 0)).toEqual([]);
  });
});
