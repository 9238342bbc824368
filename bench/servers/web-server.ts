// A server with the page and three models, one of them a chat whose answer has as many tokens as the client wants. Usage:
// web-server.js <true|false>, the value of `serverThread`.

import { batch, chatModel } from 'tstriton';

import { addSub } from '../add-sub-callable.js';
import { measuredServer, serveMeasured, serverThreadFlag } from './measured-server.js';

const triton = measuredServer(serverThreadFlag(), { allowPage: true });
const tensor = { dtype: 'float32', shape: [16] } as const;
for (const modelName of ['First', 'Second']) {
  triton.bind({
    modelName,
    inferFunc: batch(addSub),
    inputs: { a: tensor, b: tensor },
    outputs: { add: tensor, sub: tensor },
    config: { maxBatchSize: 64 },
  });
}
triton.bind(
  chatModel({
    modelName: 'Chat',
    *chat({ maxTokens = 0 }) {
      for (let k = 0; k < maxTokens; k++) yield ` token${k % 10}`;
    },
  }),
);
await serveMeasured(triton);
