// Other people's HTTP servers with the handlers of a Triton in them, each in the way that its documentation shows.
import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';

import { serve } from '@hono/node-server';
import express from 'express';
import fastify from 'fastify';
import { Hono } from 'hono';

import type { Triton } from 'tstriton';

export interface MountingServer extends AsyncDisposable {
  /** Before Triton's paths. */
  readonly url: string;
}

async function listening(server: Server, prefix: string): Promise<MountingServer> {
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}${prefix}`,
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

export const MOUNTING_SERVERS = {
  'node:http': (triton: Triton) => listening(createServer(triton.handler()), ''),
  'node:http, behind a prefix': (triton: Triton) => listening(createServer(triton.handler({ prefix: '/ai' })), '/ai'),
  'Express 5': (triton: Triton) => {
    const app = express();
    app.use('/models', triton.handler());
    app.use(express.json());
    app.get('/own', (_, response) => void response.json({ own: true }));
    return listening(createServer(app), '/models');
  },
  'Fastify 5': async (triton: Triton) => {
    const app = fastify();
    const handler = triton.handler();
    await app.register(async (models) => {
      // The handler reads the bodies itself.
      models.removeAllContentTypeParsers();
      models.addContentTypeParser('*', (_request, _body, done) => done(null));
      models.all('/v2', (request, reply) => (reply.hijack(), handler(request.raw, reply.raw)));
      models.all('/v2/*', (request, reply) => (reply.hijack(), handler(request.raw, reply.raw)));
    });
    await app.listen({ port: 0, host: '127.0.0.1' });
    return {
      url: `http://127.0.0.1:${(app.server.address() as AddressInfo).port}`,
      [Symbol.asyncDispose]: async () => {
        app.server.closeAllConnections();
        await app.close();
      },
    };
  },
  'Hono 4': async (triton: Triton) => {
    const app = new Hono();
    const handler = triton.fetchHandler();
    app.all('/v2/*', (context) => handler(context.req.raw));
    const server = serve({ fetch: app.fetch, port: 0, hostname: '127.0.0.1' }) as Server;
    await once(server, 'listening');
    return {
      url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
      [Symbol.asyncDispose]: async () => {
        server.closeAllConnections();
        await new Promise((resolve) => server.close(resolve));
      },
    };
  },
} as const;
