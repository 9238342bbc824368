// What the compiler says of a model's own route, and of the encodings of its tensors.
import { defineModel, Triton } from 'tstriton';

const text = { dtype: 'string', shape: [1] } as const;

export const routed = defineModel({
  modelName: 'm',
  route: 'POST /predict',
  description: 'Predicts',
  inputs: { x: { dtype: 'bytes', shape: [1], contentEncoding: 'base64', description: 'A file' } },
  outputs: { y: text },
});

new Triton().bind({ ...routed, inferFunc: (requests) => requests.map(() => ({ y: ['a'] })) });

// @ts-expect-error: a route has a method
defineModel({ modelName: 'm', route: '/predict', inputs: {}, outputs: {} });
// @ts-expect-error: it is POST
defineModel({ modelName: 'm', route: 'GET /predict', inputs: {}, outputs: {} });
// @ts-expect-error: the only encoding is base64
defineModel({ modelName: 'm', inputs: { x: { dtype: 'bytes', shape: [1], contentEncoding: 'hex' } }, outputs: {} });
