import { describe, expect, it } from 'vitest';

import { finishPaced } from '../../pacing/paced-work.js';
import { decodeLoadRequest } from './decode-load-request.js';

const decode = (text: string) => finishPaced(decodeLoadRequest(Buffer.from(text)));
const load = (parameters: object) => decode(JSON.stringify({ parameters }));

/** The files as numbers. */
function files(parameters: object) {
  return Object.fromEntries(Object.entries(load(parameters).files).map(([name, bytes]) => [name, bytes && [...bytes]]));
}

describe('the files of a load', () => {
  it.each([0, 1, 2, 3, 49_151, 49_152, 49_153, 98_304, 200_000])('are read from base64: %i bytes', (length) => {
    const bytes = Buffer.from(Array.from({ length }, (_, i) => (i * 7 + (i >> 8)) & 255));
    const text = bytes.toString('base64');
    for (const written of [text, text.replace(/=+$/, '')]) {
      const found = load({ 'file:a': written, config: '{}', 'file:b': 'AQI=' });
      expect(found.config).toBe('{}');
      expect(Buffer.from(found.files['file:a']!).equals(bytes)).toBe(true);
      expect([...found.files['file:b']!]).toEqual([1, 2]);
    }
  });

  it('may be written with escapes, as some writers of JSON do', () => {
    const bytes = Buffer.alloc(100_001, Buffer.from([255, 239, 190]));
    const text = bytes.toString('base64');
    const escaped = text.replaceAll('/', String.raw`\/`).replace('+', String.raw`\u002b`);
    const found = decode(`{"parameters":{"file:a":"${escaped}","file:b":"/w=="}}`);
    expect(Buffer.from(found.files['file:a']!).equals(bytes)).toBe(true);
    expect([...found.files['file:b']!]).toEqual([255]);
  });

  it('are undefined where the text is not base64', () => {
    const long = 'A'.repeat(70_000);
    expect(
      files({ 'file:a': 'AQ=A', 'file:b': 'AQ-_', 'file:c': 'A Q', 'file:d': '=' + long, 'file:e': 'AQ==' }),
    ).toEqual({
      'file:a': undefined,
      'file:b': undefined,
      'file:c': undefined,
      'file:d': undefined,
      'file:e': [1],
    });
  });

  it('are views of the body, so that a load takes no further memory', () => {
    const body = Buffer.from(JSON.stringify({ parameters: { 'file:a': Buffer.alloc(3000).toString('base64') } }));
    expect(finishPaced(decodeLoadRequest(body)).files['file:a']!.buffer).toBe(body.buffer);
  });
});

describe('a body', () => {
  it('may be empty, or without parameters', () => {
    expect([decode(''), decode('{}'), decode('{"x":[1]}')]).toEqual(
      Array.from({ length: 3 }, () => ({ config: undefined, files: {} })),
    );
  });

  it.each<[string, string, string]>([
    ['that is no JSON', '{', 'failed to parse the request JSON buffer'],
    ['with a number for a file', '{"parameters":{"file:a":1}}', 'attempt to access JSON non-string as string'],
    ['with parameters that are no object', '{"parameters":[]}', 'attempt to get members for non-object'],
    ['with another parameter', '{"parameters":{"x":"1"}}', "unrecognized load parameter 'x'."],
    [
      'with a large configuration',
      `{"parameters":{"config":"${' '.repeat(1_048_577)}"}}`,
      "expected a request with at most 1048576 bytes in the parameter 'config', got more",
    ],
    [
      'with names of many bytes',
      JSON.stringify({
        parameters: Object.fromEntries(Array.from({ length: 20 }, (_, i) => [`file:${i}${'x'.repeat(60_000)}`, ''])),
      }),
      'expected a request with at most 1048576 bytes in the names of its members, got more',
    ],
  ])('%s is refused', (_, text, message) => {
    expect(() => decode(text)).toThrow(message);
  });
});
