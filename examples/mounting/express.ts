// In Express: `triton.handler()` is a middleware. It stands before parsers of bodies.
import type { Server } from 'node:http';

import express from 'express';
import type { Triton } from 'tstriton';

export function withExpress(triton: Triton, port: number): Promise<Server> {
  const app = express();
  app.use(triton.handler());
  app.use(express.json());
  app.get('/', (_, response) => void response.send('an application on Express'));
  return new Promise((resolve, reject) => {
    const server = app.listen(port, (error?: Error) => (error === undefined ? resolve(server) : reject(error)));
  });
}
