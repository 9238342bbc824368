// A page of your own that asks models: the page is served on one port, the models on another. The script that asks is bundled at the
// start, with the client for browsers.
//
//   node build/examples/browser-page/server.js
import { readFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import { fileURLToPath } from 'node:url';

import { Triton } from 'tstriton';

import { bindLanguageId } from '../language-id/server.js';
import { whenStarted } from '../when-started.js';

/** The compiler leaves the page where its source is. */
const HTML = new URL(
  import.meta.url.includes('/build/') ? '../../../examples/browser-page/page.html' : 'page.html',
  import.meta.url,
);

/** `ask.ts` and the client for browsers in one file. */
export async function bundleAsk(): Promise<string> {
  // Loaded here, so that a package that is not installed is told in one line.
  const { build } = await import('esbuild');
  const source = fileURLToPath(new URL('./ask.js', import.meta.url));
  const entry = import.meta.url.endsWith('.ts') ? source.replace(/\.js$/, '.ts') : source;
  const { outputFiles } = await build({
    entryPoints: [entry],
    bundle: true,
    write: false,
    format: 'esm',
    platform: 'browser',
  });
  return outputFiles[0]!.text;
}

/** Serves the page and its script. `models` is the address that the page asks. */
export async function servePage(port: number, models: string): Promise<Server> {
  const files = new Map([
    ['/', { type: 'text/html', text: readFileSync(HTML, 'utf8').replace('MODELS', () => models) }],
    ['/ask.js', { type: 'text/javascript', text: await bundleAsk() }],
  ]);
  const server = createServer(({ url = '' }, response) => {
    const file = files.get(url);
    response.writeHead(file === undefined ? 404 : 200, {
      'content-type': `${file?.type ?? 'text/plain'}; charset=utf-8`,
    });
    response.end(file?.text);
  });
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, '127.0.0.1', () => resolve(server));
  });
}

await whenStarted(import.meta.url, async () => {
  const [, , port = '3000'] = process.argv;
  const origin = `http://localhost:${port}`;
  // Pages of this origin alone may ask.
  const triton = new Triton({ corsAllowOrigin: [origin] });
  bindLanguageId(triton);
  await triton.run();
  try {
    const page = await servePage(Number(port), `http://localhost:${triton.httpPort}`);
    console.log(`open ${origin}/ in a browser; Ctrl-C ends it`);
    await triton.serve();
    page.close();
  } finally {
    await triton.stop();
  }
});
