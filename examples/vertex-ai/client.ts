// Asks as Vertex AI does: the health route, then a prediction.
//
//   node build/examples/vertex-ai/client.js http://localhost:8080
import { whenStarted } from '../when-started.js';

export interface VertexRoutes {
  readonly predict: string;
  readonly health: string;
}

export async function askVertex(url: string, { predict, health }: VertexRoutes): Promise<void> {
  console.log(`GET ${health}: ${(await fetch(`${url}${health}`)).status}`);
  const tensor = (name: string, data: readonly number[]) => ({ name, datatype: 'FP32', shape: [1, data.length], data });
  const body = JSON.stringify({ inputs: [tensor('a', [1, 2]), tensor('b', [10, 20])] });
  const headers = { 'content-type': 'application/json' };
  const answer = await fetch(`${url}${predict}`, { method: 'POST', headers, body });
  const { outputs } = (await answer.json()) as { outputs: { name: string; data: number[] }[] };
  console.log(`POST ${predict}: ${outputs.map(({ name, data }) => `${name} = [${data.join(', ')}]`).join(', ')}`);
}

await whenStarted(import.meta.url, async () => {
  const { AIP_PREDICT_ROUTE: predict = '/predict', AIP_HEALTH_ROUTE: health = '/health' } = process.env;
  await askVertex(process.argv[2] ?? 'http://localhost:8080', { predict, health });
});
