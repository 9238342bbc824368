// A model as Google's Vertex AI asks for it: one port, with the routes that the platform names in the environment.
//
//   AIP_MODE=PREDICTION AIP_HTTP_PORT=8080 AIP_PREDICT_ROUTE=/predict AIP_HEALTH_ROUTE=/health \
//     node build/examples/vertex-ai/server.js
import { Triton, type TritonConfig } from 'tstriton';

import { bindAddSub } from '../add-sub/server.js';
import { whenStarted } from '../when-started.js';

/** Where the platform's variables are missing, on your own machine, the option asks for the port all the same. */
export const config: TritonConfig = { allowVertexAi: true };

await whenStarted(import.meta.url, async () => {
  const triton = new Triton(config);
  bindAddSub(triton);
  await triton.serve();
});
