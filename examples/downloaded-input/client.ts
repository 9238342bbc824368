// Serves three files of its own, and asks the model about them, about one that is missing and about one of another host.
//
//   node build/examples/downloaded-input/client.js grpc://localhost:8001
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

import { TritonError } from 'tstriton';
import { ModelClient, TritonConnectionError } from 'tstriton/client';

import { whenStarted } from '../when-started.js';
import { digest } from './server.js';

const FILES = new Map([
  ['/short.txt', Buffer.from('one two three')],
  ['/long.bin', Buffer.alloc(100_000, 7)],
  ['/larger.bin', Buffer.alloc(1_000_001)],
]);

/** A server of the files, on the port that the model's server was told to allow. */
export function fileServer(port: number): Promise<{ readonly host: string; close: () => void }> {
  const server = createServer(({ url = '' }, response) => {
    const file = FILES.get(url);
    response.writeHead(file === undefined ? 404 : 200).end(file);
  });
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, '127.0.0.1', () => {
      const { port: taken } = server.address() as AddressInfo;
      resolve({ host: `localhost:${taken}`, close: () => void server.close() });
    });
  });
}

export async function askDigests(url: string, host: string): Promise<void> {
  await using client = new ModelClient(url, digest);
  const addresses = [...FILES.keys(), '/none'].map((path) => `http://${host}${path}`);
  addresses.push('http://169.254.169.254/secrets');
  const lines = addresses.map(async (address) => {
    try {
      const { bytes, sha256 } = await client.inferSample({ url: [address] });
      return `${address}: ${bytes.data[0]} bytes, ${sha256.data[0]!.slice(0, 12)}…`;
    } catch (error) {
      if (!TritonError.is(error) || TritonConnectionError.is(error)) throw error;
      return `${address}: ${error.code}`;
    }
  });
  for (const line of await Promise.all(lines)) console.log(line);
}

await whenStarted(import.meta.url, async () => {
  const [, , url = 'grpc://localhost:8001', port = '9000'] = process.argv;
  const files = await fileServer(Number(port));
  try {
    await askDigests(url, files.host);
  } finally {
    files.close();
  }
});
