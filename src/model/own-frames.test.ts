import { describe, expect, it } from 'vitest';

import { TritonError } from '../errors.js';
import { ownFrames } from './own-frames.js';

describe('ownFrames', () => {
  it("are those of the user's files alone, below whatever they threw", () => {
    const cause = Object.assign(new Error('no weights'), {
      stack: [
        'Error: no weights',
        '    at load (file:///app/model.js:3:9)',
        '    at run (node:internal/modules/run:7:1)',
        '    at other (/app/node_modules/tstriton/dist/x.js:1:1)',
        '    at /app/main.js:1:1',
      ].join('\n'),
    });
    const frames = '\n    at load (file:///app/model.js:3:9)\n    at /app/main.js:1:1';
    expect(ownFrames(new TritonError('INTERNAL', 'setup failed', { cause }))).toBe(frames);
  });

  it.each([undefined, { cause: 'a text' }])('are none of a TritonError with the options %j', (options) => {
    expect(ownFrames(new TritonError('INTERNAL', 'x', options))).toBe('');
  });
});
