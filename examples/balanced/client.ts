// Asks again and again through the balancer, and counts which server answered, and what failed.
//
//   node build/examples/balanced/client.js http://localhost:8000 10
import { ModelClient } from 'tstriton/client';

import { whenStarted } from '../when-started.js';
import { whoAnswers } from './server.js';

export interface Answers {
  readonly failed: number;
  /** By the number of the server. */
  readonly byServer: ReadonlyMap<number, number>;
}

/** Eight requests are under way at any time, until `isOver`. No request is sent twice. */
export async function askUntil(url: string, isOver: () => boolean): Promise<Answers> {
  await using client = new ModelClient(url, whoAnswers, { retry: false });
  const byServer = new Map<number, number>();
  let failed = 0;
  const ask = async (x: number): Promise<void> => {
    try {
      const { y, server } = await client.inferSample({ x: [x] });
      if (y.data[0] !== x + 1) failed++;
      byServer.set(server.data[0]!, (byServer.get(server.data[0]!) ?? 0) + 1);
    } catch {
      failed++;
    }
  };
  const askAgain = async (_: unknown, first: number): Promise<void> => {
    for (let x = first; !isOver(); x += 8) await ask(x);
  };
  await Promise.all(Array.from({ length: 8 }, askAgain));
  return { failed, byServer };
}

await whenStarted(import.meta.url, async () => {
  const [, , url = 'http://localhost:8000', seconds = '10'] = process.argv;
  const end = performance.now() + 1000 * Number(seconds);
  const { failed, byServer } = await askUntil(url, () => performance.now() > end);
  for (const [server, count] of [...byServer].sort(([a], [b]) => a - b))
    console.log(`server ${server}: ${count} answers`);
  console.log(`${failed} requests failed`);
});
