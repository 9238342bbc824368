// In Fastify: the routes of the models in a scope of their own, in which Fastify parses no bodies.
import type { Server } from 'node:http';

import fastify from 'fastify';
import type { Triton } from 'tstriton';

export async function withFastify(triton: Triton, port: number): Promise<Server> {
  const handler = triton.handler();
  const app = fastify();
  app.get('/', () => 'an application on Fastify');
  await app.register(async (models) => {
    models.removeAllContentTypeParsers();
    models.addContentTypeParser('*', (_request, _body, done) => done(null));
    models.all('/v2/*', (request, reply) => {
      reply.hijack();
      handler(request.raw, reply.raw);
    });
  });
  await app.listen({ port });
  return app.server;
}
