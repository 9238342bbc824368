// Runs the built application, and asks its route for different answers at once.

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';

import { ModelClient } from 'tstriton/client';

const next = spawn(process.execPath, ['node_modules/next/dist/bin/next', 'start', '-p', '0'], {
  stdio: ['ignore', 'pipe', 'inherit'],
});
const exited = once(next, 'exit');
try {
  const lines = [];
  let url;
  for await (const line of createInterface(next.stdout)) {
    lines.push(line);
    url ??= /Local:\s+(http:\S+)/.exec(line)?.[1];
    if (line.includes('Ready')) break;
  }
  if (url === undefined) throw new Error(`next did not start: ${lines.join('\n')}`);

  const page = await (await fetch(url)).text();
  if (!page.includes('Double')) throw new Error(`the page does not have its model: ${page}`);
  const client = new ModelClient(url, 'Double');
  const inputs = Array.from({ length: 50 }, (_, i) => Float32Array.from({ length: 1 + 100 * i }, (_, k) => i + k));
  const answers = await Promise.all(inputs.map((x) => client.inferSample({ x })));
  for (const [i, { y }] of answers.entries()) {
    const { data } = y;
    if (data.length !== inputs[i].length || data.some((value, k) => value !== 2 * inputs[i][k]))
      throw new Error(`wrong answer to request ${i}`);
  }
  const { status } = await fetch(`${url}/v2/models/None/infer`, { method: 'POST', body: '{}' });
  if (status !== 404) throw new Error(`expected 404 for an unknown model, got ${status}`);
  await client.close();
  console.log(`next answered ${answers.length} requests`);
} finally {
  next.kill();
  await exited;
}
