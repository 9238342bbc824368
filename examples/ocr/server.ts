// Serves the pipeline and its networks.
//
//   node build/examples/ocr/server.js
import { Triton } from 'tstriton';

import { whenStarted } from '../when-started.js';

await whenStarted(import.meta.url, async () => {
  // Loaded here, so that a package that is not installed is told in one line.
  const { bindOcr } = await import('./pipeline.js');
  const triton = new Triton();
  bindOcr(triton);
  await triton.serve();
});
