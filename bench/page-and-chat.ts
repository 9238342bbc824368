// What an open page costs the server while nothing else happens, and what a streamed chat costs for each token.

import { request } from 'node:http';

import type { MeasuredProcess } from './interleaved.js';

/** What an open page asks again and again (`page/use-server.ts`), and how often. */
const ASKED = [
  ['/page/figures', 1000],
  ['/page/models', 5000],
] as const;
/** Pages at once, so that their cost stands out from what else the server does. */
const PAGES = 20;

function ask(port: number, path: string, body: string | undefined, onPiece: (piece: Buffer) => void): Promise<void> {
  return new Promise((resolve, reject) => {
    const headers = { 'content-type': 'application/json' };
    const asked = request({ host: '127.0.0.1', port, path, method: body === undefined ? 'GET' : 'POST', headers });
    asked.on('error', reject);
    asked.on('response', (response) => {
      if (response.statusCode !== 200) reject(new Error(`${path} was answered with ${response.statusCode}`));
      response.on('data', onPiece).on('end', resolve).on('error', reject);
    });
    asked.end(body);
  });
}

/** Shares of a core, for one page. */
export async function pageCost(server: MeasuredProcess, port: number, seconds: number): Promise<number> {
  const share = async (pages: number): Promise<number> => {
    const begin = await server.usage();
    const until = performance.now() + seconds * 1000;
    const failures: unknown[] = [];
    const timers = ASKED.flatMap(([path, ms]) =>
      Array.from({ length: pages }, () =>
        setInterval(() => void ask(port, path, undefined, () => undefined).catch((e) => failures.push(e)), ms),
      ),
    );
    await new Promise((resolve) => setTimeout(resolve, until - performance.now()));
    for (const timer of timers) clearInterval(timer);
    const end = await server.usage();
    if (failures.length > 0) throw failures[0];
    return (end.cpu - begin.cpu) / ((end.at - begin.at) * 1000);
  };
  // The first answers compile what the others run.
  for (const [path] of ASKED) for (let i = 0; i < 50; i++) await ask(port, path, undefined, () => undefined);
  const idle = await share(0);
  return ((await share(PAGES)) - idle) / PAGES;
}

/** Tokens a second of the server's CPU, all of its threads. */
export async function chatRate(server: MeasuredProcess, port: number, tokens: number): Promise<number> {
  const body = JSON.stringify({
    model: 'Chat',
    stream: true,
    max_tokens: tokens,
    messages: [{ role: 'user', content: 'Go on.' }],
  });
  let events = 0;
  const count = (piece: Buffer): void => {
    for (let at = piece.indexOf('data: '); at >= 0; at = piece.indexOf('data: ', at + 6)) events++;
  };
  await ask(port, '/v1/chat/completions', body, () => undefined);
  const begin = await server.usage();
  await ask(port, '/v1/chat/completions', body, count);
  const { cpu } = await server.usage();
  // Pieces may cut an event's first word in two, and a few events are no tokens.
  if (Math.abs(events - tokens) > tokens / 100) throw new Error(`expected ${tokens} events, got ${events}`);
  return (tokens / (cpu - begin.cpu)) * 1e6;
}
