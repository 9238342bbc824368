// Add-sub with a route of its own, on the server's port or in a web application on node:http, where it may be a handler of Fetch's
// requests. Usage: routes-server.js <true|false> [mounted|fetch]. The first is the value of `serverThread`.

import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

import { getRequestListener } from '@hono/node-server';
import { batch } from 'tstriton';

import { addSub } from '../add-sub-callable.js';
import { ADD_SUB } from '../add-sub-wire.js';
import { serveControl } from '../control-channel.js';
import { measuredServer, serveMeasured, serverThreadFlag } from './measured-server.js';

const triton = measuredServer(serverThreadFlag());
const tensor = { dtype: 'float32', shape: [16] } as const;
triton.bind({
  modelName: ADD_SUB,
  route: 'POST /predict',
  inferFunc: batch(addSub),
  inputs: { a: tensor, b: tensor },
  outputs: { add: tensor, sub: tensor },
  config: { maxBatchSize: 64 },
});
const place = process.argv[3];
if (place !== undefined) {
  const application = createServer(place === 'fetch' ? getRequestListener(triton.fetchHandler()) : triton.handler());
  await triton.run();
  await new Promise<void>((resolve) => application.listen(0, '127.0.0.1', resolve));
  serveControl({
    ports: { httpPort: (application.address() as AddressInfo).port },
    stop: async () => {
      application.closeAllConnections();
      application.close();
      await triton.stop();
    },
  });
} else {
  await serveMeasured(triton);
}
