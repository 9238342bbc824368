import { expect, it } from 'vitest';

import type { HttpExchange } from '../../http1/http-exchange.js';
import type { GenerationRequest } from './decode-generation.js';
import { generationWriter } from './generation-writers.js';

it('counts a long answer beside the inputs of the choices, some of which may still wait', () => {
  const held: number[] = [];
  const exchange = { request: { bodyLength: 1000 }, hold: (bytes: number) => held.push(bytes) > 0 };
  const request = { model: 'm', isStream: false, choices: [{}, {}], inputBytes: 3000 };
  const writer = generationWriter('chat', request as unknown as GenerationRequest, exchange as unknown as HttpExchange);
  void writer.text(0, 'x'.repeat(40_000));
  void writer.text(1, 'x'.repeat(40_000));
  expect(held).toEqual([3000 + 2 * 80_000]);
});
