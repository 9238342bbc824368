// What the page runs: the checks in the page itself and in a worker of it. It shows what comes of them, and tells whoever serves it.
import * as client from 'tstriton/client';

import { runChecks } from './checks.mjs';

/** @type {any} What a page or a worker has beside what Node has. */
const { document, location, postMessage, Worker } = globalThis;

const url = String(new URLSearchParams(location.search).get('server'));

/** @returns {Promise<readonly { name: string, outcome: string }[]>} */
function inWorker() {
  const worker = new Worker(`/worker.js?server=${encodeURIComponent(url)}`, { type: 'module' });
  return new Promise((resolve, reject) => {
    worker.onmessage = (/** @type {{ data: readonly { name: string, outcome: string }[] }} */ { data }) =>
      resolve(data);
    worker.onerror = (/** @type {{ message: string }} */ { message }) => reject(new Error(message));
  });
}

if (document === undefined) {
  postMessage(await runChecks(client, url));
} else {
  for (const [where, run] of /** @type {const} */ ([
    ['page', () => runChecks(client, url)],
    ['worker', inWorker],
  ])) {
    const outcomes = await run().catch((/** @type {unknown} */ error) => [{ name: 'starts', outcome: String(error) }]);
    for (const { name, outcome } of outcomes) {
      const line = document.createElement('li');
      line.textContent = `${where}: ${name}${outcome === '' ? '' : `: ${outcome}`}`;
      line.className = outcome === '' ? 'ok' : 'failed';
      document.body.append(line);
    }
    await fetch(`/outcomes?where=${where}`, { method: 'POST', body: JSON.stringify(outcomes) });
  }
}
