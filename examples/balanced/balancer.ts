// A small balancer of HTTP requests. It asks each server four times a second whether it is ready, and sends each request to the ready
// server with the fewest requests under way. Real ones (haproxy, Envoy, an ingress) do the same, and more.
//
//   node build/examples/balanced/balancer.js 8000 8010 8011 8012
import { Agent, createServer, get, request, type Server } from 'node:http';

import { whenStarted } from '../when-started.js';

const CHECK_MS = 250;

interface Backend {
  readonly port: number;
  isReady: boolean;
  underWay: number;
}

export interface Balancer {
  readonly server: Server;
  /** How many servers are ready. */
  readonly readyCount: number;
  close(): void;
}

export function balance(port: number, ports: readonly number[]): Promise<Balancer> {
  const backends = ports.map((backend): Backend => ({ port: backend, isReady: false, underWay: 0 }));
  const agent = new Agent({ keepAlive: true });
  const check = () => backends.forEach(checkBackend);
  check();
  const timer = setInterval(check, CHECK_MS);

  const server = createServer((incoming, outgoing) => {
    const [backend] = backends.filter(({ isReady }) => isReady).sort((a, b) => a.underWay - b.underWay);
    if (backend === undefined) {
      outgoing.writeHead(503, { 'content-type': 'application/json' }).end('{"error":"no server is ready"}');
      return;
    }
    backend.underWay++;
    outgoing.once('close', () => backend.underWay--);
    const { method, url: path, headers } = incoming;
    const passed = request({ host: '127.0.0.1', port: backend.port, method, path, headers, agent }, (answer) => {
      outgoing.writeHead(answer.statusCode ?? 502, answer.headers);
      answer.pipe(outgoing);
    });
    passed.once('error', () => {
      if (!outgoing.headersSent) outgoing.writeHead(502);
      outgoing.end();
    });
    outgoing.once('close', () => passed.destroy());
    incoming.pipe(passed);
  });
  return new Promise((resolve, reject) => {
    server.once('error', (error) => {
      clearInterval(timer);
      reject(error);
    });
    server.listen(port, '127.0.0.1', () =>
      resolve({
        server,
        get readyCount() {
          return backends.filter(({ isReady }) => isReady).length;
        },
        close: () => {
          clearInterval(timer);
          agent.destroy();
          server.close();
          server.closeAllConnections();
        },
      }),
    );
  });
}

function checkBackend(backend: Backend): void {
  const asked = get(
    { host: '127.0.0.1', port: backend.port, path: '/v2/health/ready', timeout: CHECK_MS },
    (answer) => {
      backend.isReady = answer.statusCode === 200;
      answer.resume();
    },
  );
  asked.once('timeout', () => asked.destroy());
  asked.once('error', () => (backend.isReady = false));
}

await whenStarted(import.meta.url, async () => {
  const [port = 8000, ...ports] = process.argv.slice(2).map(Number);
  await balance(port, ports.length === 0 ? [8010, 8011, 8012] : ports);
});
