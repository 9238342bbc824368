import { describe, expect, it } from 'vitest';

import { finishPaced, PAUSE_BYTES, type PacedWork } from '../../pacing/paced-work.js';
import { decodeEmbeddings } from './embeddings.js';
import { decodeGeneration } from './decode-generation.js';
import { decodeTranscriptions } from './transcriptions.js';

const MOST = 1 << 26;
const body = (fields: object) => Buffer.from(JSON.stringify({ model: 'm', ...fields }));
const generation = (endpoint: 'chat' | 'completions', fields: object) =>
  finishPaced(decodeGeneration(endpoint, body(fields), MOST));
const embeddings = (fields: object) => finishPaced(decodeEmbeddings(body(fields), MOST));

function pausesOf(work: PacedWork<unknown>): number {
  let pauses = 0;
  while (work.next().done !== true) pauses++;
  return pauses;
}

describe('decodeGeneration', () => {
  it('counts the inputs of every choice', () => {
    const messages = [{ role: 'user', content: 'x'.repeat(1000) }];
    const length = JSON.stringify(messages).length + '{"seed":7}'.length;
    expect(generation('chat', { messages, seed: 7 }).inputBytes).toBe(length);
    expect(generation('chat', { messages, seed: 7, n: 5 }).inputBytes).toBe(5 * length);
    const { inputBytes } = generation('completions', { prompt: ['ab', 'ä'], n: 3 });
    expect(inputBytes).toBe(3 * (2 + 2 + 2 * '{}'.length));
  });

  it('reads prompts as UTF-8', () => {
    const prompts = (prompt: unknown) =>
      generation('completions', { prompt }).choices.map(({ inputs }) => inputs.texts['prompt']!.map(String));
    expect(prompts('a "b"\n✓')).toEqual([['a "b"\n✓']]);
    expect(prompts(['', 'é'.repeat(500), '\u0000'])).toEqual([[''], ['é'.repeat(500)], ['\u0000']]);
    expect(() => prompts(['a', ['b']])).toThrow("'prompt' must be a string or a list of strings");
    expect(() => prompts([])).toThrow("'prompt' must have at least one text, got none");
  });

  it('echoes no prompts of more than a megabyte', () => {
    const prompt = 'p'.repeat((1 << 20) + 1);
    expect(() => generation('completions', { prompt, echo: true })).toThrow(
      "'echo' takes prompts of at most 1048576 bytes, got 1048577",
    );
    expect(generation('completions', { prompt, echo: false }).choices[0]!.echo).toBe('');
  });

  it('refuses a name of 65 kB without repeating it', () => {
    const model = 'ä'.repeat(40_000);
    expect(() => generation('chat', { model, messages: [{}] })).toThrow(
      "'model' must be a string of at most 65536 bytes, got 80000",
    );
  });
});

describe('decodeEmbeddings', () => {
  it('reads texts with pauses', () => {
    const input = ['x', 'ü"'.repeat(400_000), ''];
    expect(embeddings({ input }).texts.map(String)).toEqual(input);
    const text = body({ input });
    // Once to parse, and once to read.
    expect(pausesOf(decodeEmbeddings(text, MOST))).toBeGreaterThan((1.5 * text.length) / PAUSE_BYTES);
  });
});

describe('decodeTranscriptions', () => {
  const part = (name: string, content: string) =>
    `--b\r\nContent-Disposition: form-data; name="${name}"${name === 'file' ? '; filename="f"' : ''}\r\n\r\n${content}\r\n`;
  const form = (prompt: string) =>
    Buffer.from(`${part('model', 'm')}${part('file', 'recording')}${part('prompt', prompt)}--b--`);
  const read = (given: Buffer) => finishPaced(decodeTranscriptions(given, 'multipart/form-data; boundary=b'));

  it('takes a megabyte of fields beside the recording', () => {
    expect(read(form('p'.repeat(1_000_000))).file.toString()).toBe('recording');
    expect(() => read(form('p'.repeat(1 << 20)))).toThrow("all fields but 'file' may have 1048576 bytes together");
  });
});
