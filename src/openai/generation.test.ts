import { describe, expect, it } from 'vitest';

import { TritonError } from '../errors.js';
import { type ChatPart, generate, type Generated } from './generation.js';
import { generationOptions } from './generation-request.js';

const CHAT = { what: "chat of model 'M'", usesTools: true };
const COMPLETION = { what: "complete of model 'M'", usesTools: false };
const signal = new AbortController().signal;

/** All outputs, each as its text or the parsed JSON. */
async function outputsOf(generated: Generated<ChatPart>, options: object = {}, giver = CHAT): Promise<object[]> {
  const steps = await generate(generated, generationOptions(JSON.stringify(options), signal), giver);
  const all: object[] = [];
  for await (const step of steps) {
    all.push(
      Object.fromEntries(
        Object.entries(step).map(([name, [[value]]]) => [
          name,
          name === 'usage' || name === 'tool_calls' ? (JSON.parse(value) as unknown) : value,
        ]),
      ),
    );
  }
  return all;
}

const usage = (completion_tokens: number, prompt_tokens = 0) => ({
  prompt_tokens,
  completion_tokens,
  total_tokens: prompt_tokens + completion_tokens,
});

describe('generated text', () => {
  it.each([
    ['a text', 'ab', 1],
    ['a promise of a text', Promise.resolve('ab'), 1],
    ['an object', { text: 'ab' }, 1],
    ['a list of texts', ['ab'], 1],
    ['a generator', (function* () { yield 'ab'; })(), 1],
    ['a promise of an asynchronous generator', Promise.resolve((async function* () { yield 'ab'; })()), 1],
  ] as const)('comes from %s', async (_, generated, tokens) => {
    expect(await outputsOf(generated)).toEqual([{ text: 'ab' }, { finish_reason: 'stop', usage: usage(tokens) }]);
  }); // prettier-ignore

  it('ends a generator that goes on after the most tokens', async () => {
    let isEnded = false;
    const endless = (async function* () {
      try {
        for (;;) yield 'x';
      } finally {
        isEnded = true;
      }
    })();
    expect(await outputsOf(endless, { max_tokens: 2 })).toEqual([
      { text: 'x' },
      { text: 'x' },
      { finish_reason: 'length', usage: usage(2) },
    ]);
    expect(isEnded).toBe(true);
  });

  it('gives text that was held back when no stop sequence follows', async () => {
    expect(await outputsOf(['a', '#', 'b', '#'], { stop: ['##'] })).toEqual([
      { text: 'a' },
      { text: '#b' },
      { text: '#', finish_reason: 'stop', usage: usage(4) },
    ]);
  });

  it('keeps characters whole that the function cuts in two, because half a character is not text', async () => {
    const texts = async (pieces: readonly string[], options?: object) =>
      (await outputsOf(pieces, options)).map((outputs) => (outputs as { text?: string }).text);
    const halves = 'a😀b🌍'.split('');
    expect(await texts(halves)).toEqual(['a', '😀', 'b', '🌍', undefined]);
    expect(await texts(halves, { stop: ['b🌍'] })).toEqual(['a', '😀', undefined]);
    expect(await texts(halves, { stop: ['😀'] })).toEqual(['a', undefined]);
    // The model gave no more of it.
    expect(await texts(halves, { max_tokens: 2 })).toEqual(['a', '\ud83d']);
  });

  it('takes the reason and the usage from the function', async () => {
    const parts: ChatPart[] = [{ usage: { promptTokens: 5 } }, 'x', { finishReason: 'content_filter', usage: { completionTokens: 9 } }]; // prettier-ignore
    expect(await outputsOf(parts)).toEqual([{ text: 'x' }, { finish_reason: 'content_filter', usage: usage(9, 5) }]);
  });

  it('gives calls of tools whole and in pieces', async () => {
    const [calls, pieces, end] = await outputsOf([
      {
        toolCalls: [
          { name: 'one', arguments: { a: 1 } },
          { id: 'my', name: 'two' },
        ],
      },
      {
        text: 'so',
        toolCalls: [
          { index: 2, name: 'three', arguments: '{' },
          { index: 2, arguments: '}' },
        ],
      },
    ]);
    const id = expect.stringMatching(/^call_[0-9a-f]{32}$/) as string;
    expect(calls).toEqual({
      tool_calls: [
        { index: 0, id, type: 'function', function: { name: 'one', arguments: '{"a":1}' } },
        { index: 1, id: 'my', type: 'function', function: { name: 'two', arguments: '{}' } },
      ],
    });
    expect(pieces).toEqual({
      text: 'so',
      tool_calls: [
        { index: 2, id, type: 'function', function: { name: 'three', arguments: '{' } },
        { index: 2, function: { arguments: '}' } },
      ],
    });
    expect(end).toEqual({ finish_reason: 'tool_calls', usage: usage(1) });
  });

  it.each([
    [[7], CHAT, "chat of model 'M' gave a number, expected a text or an object with one"],
    [[{ txt: 'x' }], CHAT, "chat of model 'M' gave an object with 'txt', known are text, finishReason, usage, toolCalls"],
    [[{ toolCalls: [] }], COMPLETION, "complete of model 'M' gave an object with 'toolCalls'"],
    [[{ finishReason: 'done' }], CHAT, "chat of model 'M' gave a wrong finishReason"],
    [[{ usage: { tokens: 1 } }], CHAT, "chat of model 'M' gave a wrong usage"],
    [[{ toolCalls: [{}] }], CHAT, "chat of model 'M' gave a tool call without the name of the tool"],
    [[{ toolCalls: [{ index: 1, name: 'x' }] }], CHAT, "chat of model 'M' gave a tool call of index 1, expected one up to 0"],
    [[{ toolCalls: [null] }], CHAT, "chat of model 'M' gave null for a tool call"],
    [[{ toolCalls: [{ name: 'x', arguments: 5 }] }], CHAT, "chat of model 'M' gave a number for the arguments of a tool call"],
    [[{ usage: { promptTokens: -1 } }], CHAT, "chat of model 'M' gave a wrong usage"],
  ])('refuses the pieces %j', async (parts, giver, message) => {
    await expect(outputsOf(parts as never, {}, giver)).rejects.toMatchObject({
      code: 'INTERNAL',
      message: expect.stringContaining(message) as string,
    });
  }); // prettier-ignore

  // Without an own member each would count as a piece that says nothing, and a rejection would end the process.
  it.each([
    ['a Promise', () => Promise.reject(new Error('too late'))],
    ['an Error', () => new Error('not thrown')],
    ['an Error', () => new TritonError('NOT_FOUND', 'not thrown')],
    ['a Date', () => new Date()],
    ['a Map', () => new Map([['text', 'x']])],
    ['a wrong text', () => ({ text: Promise.reject(new Error('too late')) })],
    ['a Promise for the arguments', () => ({ toolCalls: [{ name: 'x', arguments: Promise.reject(new Error('too late')) }] })],
  ])('refuses %s in the place of a piece, and awaits nothing', async (got, make) => {
    await expect(outputsOf((function* () { yield make() as never; })())).rejects.toMatchObject({
      code: 'INTERNAL',
      message: expect.stringContaining(`chat of model 'M' gave ${got}`) as string,
    });
  }); // prettier-ignore
});
