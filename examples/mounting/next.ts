// In Next.js: this is `app/api/[...path]/route.ts`. A module is loaded once, so the server is made once. Next itself needs no import.
import { modelServer } from './models.js';

const triton = modelServer();
const handler = triton.fetchHandler({ prefix: '/api' });
await triton.run();

export const runtime = 'nodejs';
export const GET = handler;
export const POST = handler;
/** Next needs no such thing: it lets a test end the server. */
export const stop = (): Promise<void> => triton.stop();
