// examples/ocr: real networks read pages of which the text is known.
import { ModelClient } from 'tstriton/client';
import { expect, it } from 'vitest';

import { askOcr, drawPages } from '../../examples/ocr/client.js';
import { ocr } from '../../examples/ocr/model.js';
import { bindOcr } from '../../examples/ocr/pipeline.js';
import { startServer } from '../support/start-server.js';

it('reads pages that are level, tilted and upside down, asked for at the same time over both wires', async () => {
  await using server = await startServer((triton) => bindOcr(triton));
  const pages = await drawPages(4);
  const { accuracy, lines, firstPage, picture } = await askOcr([server.http, server.grpc], pages);
  expect(lines).toBe(24);
  expect(accuracy).toBeGreaterThan(0.99);
  expect(firstPage[0]!.replaceAll(' ', '')).toBe('Thequickbrownfoxjumpsoverthelazydog.');
  // The network without batches reads the same.
  const alone = await askOcr([server.http], pages.slice(0, 1), false);
  expect(alone.firstPage).toEqual(firstPage);
  // PNG's signature.
  expect([...picture.subarray(1, 4)]).toEqual([...Buffer.from('PNG')]);
});

it("refuses bytes that are no picture as the client's mistake", async () => {
  await using server = await startServer((triton) => bindOcr(triton));
  const client = new ModelClient(server.grpc, ocr);
  try {
    const answer = client.inferSample({ image: [Buffer.from('no picture')] });
    await expect(answer).rejects.toMatchObject({ code: 'INVALID_ARG', message: expect.stringContaining('no picture') });
  } finally {
    await client.close();
  }
});
