// A model whose input is an address: the server fetches the file, and the model sees its bytes. Only hosts that the server's owner names
// are fetched, for an address may lead into your own network.
//
//   node build/examples/downloaded-input/server.js example.org localhost:9000
import { createHash } from 'node:crypto';

import { batch, defineModel, Tensor, Triton, TritonError } from 'tstriton';

import { whenStarted } from '../when-started.js';

/** Larger files are refused. */
export const LARGEST_BYTES = 1_000_000;
const TIMEOUT_MS = 5_000;

export const digest = defineModel({
  modelName: 'Digest',
  inputs: { url: { dtype: 'string', shape: [1] } },
  outputs: { bytes: { dtype: 'int32', shape: [1] }, sha256: { dtype: 'string', shape: [1] } },
  config: { maxBatchSize: 8 },
  strict: true,
});

async function download(text: string, hosts: ReadonlySet<string>, signal: AbortSignal): Promise<Uint8Array> {
  if (!URL.canParse(text)) throw new TritonError('INVALID_ARG', `url must be an address, got '${text}'`);
  const url = new URL(text);
  if (!/^https?:$/.test(url.protocol) || !hosts.has(url.host)) {
    throw new TritonError('PERMISSION_DENIED', `files of '${url.host}' are not fetched`);
  }
  // A redirect might lead to a host that is not allowed.
  const answer = await fetch(url, {
    redirect: 'error',
    signal: AbortSignal.any([signal, AbortSignal.timeout(TIMEOUT_MS)]),
  });
  if (!answer.ok || !answer.body) throw new TritonError('NOT_FOUND', `${text} answered with ${answer.status}`);
  const pieces: Uint8Array[] = [];
  let size = 0;
  for await (const piece of answer.body) {
    size += piece.length;
    if (size > LARGEST_BYTES) throw new TritonError('INVALID_ARG', `${text} has more than ${LARGEST_BYTES} bytes`);
    pieces.push(piece);
  }
  return Buffer.concat(pieces);
}

export function bindDigest(triton: Triton, hosts: ReadonlySet<string>): void {
  triton.bind({
    ...digest,
    inferFunc: batch(async ({ url }, { signal, failRow }) => {
      // All files of a batch come at the same time. One that cannot be fetched fails its own request alone.
      const files = await Promise.all(
        url.data.map((text, row) =>
          download(text, hosts, signal).catch((error: unknown) => {
            failRow(row, TritonError.from(error, 'UNAVAILABLE'));
            return new Uint8Array();
          }),
        ),
      );
      const hashes = files.map((file) => createHash('sha256').update(file).digest('hex'));
      return {
        bytes: new Tensor(
          'int32',
          Int32Array.from(files, ({ length }) => length),
          [files.length, 1],
        ),
        sha256: Tensor.from('string', hashes, [files.length, 1]),
      };
    }),
  });
}

await whenStarted(import.meta.url, async () => {
  const triton = new Triton();
  bindDigest(triton, new Set(process.argv.slice(2)));
  await triton.serve();
});
