// Asks Power, and tells which process has answered.
//
//   node build/examples/remote/client.js http://localhost:8000
import { ModelClient } from 'tstriton/client';

import { whenStarted } from '../when-started.js';
import { power } from './model.js';

export async function askPower(url: string, base: number, exponent: number): Promise<string> {
  await using client = new ModelClient(url, power);
  const answer = await client.inferSample({ base: [base], exponent: [exponent] });
  return `${base} ^ ${exponent} = ${answer.power.data[0]}, says process ${answer.process.data[0]}`;
}

await whenStarted(import.meta.url, async () => {
  console.log(await askPower(process.argv[2] ?? 'http://localhost:8000', 2, 10));
});
