// An application with a model in it, on the framework that you name: express, fastify or hono.
//
//   node build/examples/mounting/server.js express
import { TritonError, type Triton } from 'tstriton';

import { whenStarted } from '../when-started.js';
import { modelServer } from './models.js';

/** Each is loaded when it is asked for, so that the others need not be installed. */
export const FRAMEWORKS = {
  express: async (triton: Triton, port: number) => (await import('./express.js')).withExpress(triton, port),
  fastify: async (triton: Triton, port: number) => (await import('./fastify.js')).withFastify(triton, port),
  hono: async (triton: Triton, port: number) => (await import('./hono.js')).withHono(triton, port),
} as const;

await whenStarted(import.meta.url, async () => {
  const [, , name = 'express', port = '3000'] = process.argv;
  if (!Object.hasOwn(FRAMEWORKS, name)) {
    throw new TritonError('INVALID_ARG', `unknown framework '${name}', expected ${Object.keys(FRAMEWORKS).join(', ')}`);
  }
  const triton = modelServer();
  // The handler comes before `run()`: the models then run in the application's thread.
  const server = await FRAMEWORKS[name as keyof typeof FRAMEWORKS](triton, Number(port));
  await triton.run();
  console.log(`http://localhost:${port}/ is an application with a model, until Ctrl-C`);
  process.once('SIGINT', () => {
    server.close();
    void triton.stop();
  });
});
