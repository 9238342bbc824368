// Listens with a floor of node:http on any port, and obeys the benchmark that started it.

import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';

import { serveControl } from '../control-channel.js';

export function serveFloor(server: Server): void {
  server.listen(0, '127.0.0.1', () => {
    serveControl({
      ports: { httpPort: (server.address() as AddressInfo).port },
      stop: () =>
        new Promise((resolve) => {
          server.close(() => resolve());
          server.closeAllConnections();
        }),
    });
  });
}
