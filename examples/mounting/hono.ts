// In Hono, and in whatever else speaks the Fetch standard: `triton.fetchHandler()` takes a Request and gives a Response.
import type { Server } from 'node:http';

import { serve } from '@hono/node-server';
import { Hono } from 'hono';
import type { Triton } from 'tstriton';

export function withHono(triton: Triton, port: number): Promise<Server> {
  const handler = triton.fetchHandler();
  const app = new Hono();
  app.get('/', (context) => context.text('an application on Hono'));
  app.all('/v2/*', (context) => handler(context.req.raw));
  return new Promise((resolve, reject) => {
    const server = serve({ fetch: app.fetch, port }, () => resolve(server as Server));
    server.once('error', reject);
  });
}
