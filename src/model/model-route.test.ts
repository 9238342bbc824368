import { describe, expect, it } from 'vitest';

import { parseRoute } from './model-route.js';

describe('parseRoute', () => {
  it.each([
    ['POST /predict', '/predict'],
    ['POST /', '/'],
    ['POST /v1/chat', '/v1/chat'],
    ['POST /a.b/~c_d-e', '/a.b/~c_d-e'],
    ['POST /v2x', '/v2x'],
  ])('takes %j', (route, path) => {
    expect(parseRoute(route, 'route')).toBe(path);
  });

  it.each([
    'GET /predict',
    'post /predict',
    'POST predict',
    'POST  /predict',
    'POST /predict ',
    'POST /predict/',
    'POST //predict',
    'POST /a/../b',
    'POST /a/.',
    'POST /a?b=c',
    'POST /a#b',
    'POST /a%20b',
    'POST /ä',
    '/predict',
    '',
    7,
    null,
    {},
  ])('refuses %j and says what is expected', (route) => {
    expect(() => parseRoute(route, "route of model 'm'")).toThrow(
      /^route of model 'm' must be 'POST' and a path .*, like 'POST \/predict', got /,
    );
  });

  it.each(['POST /v2', 'POST /v2/models/m/infer', 'POST /openapi.json', 'POST /v1/embeddings', 'POST /v1/models/m'])(
    'keeps %j for the server',
    (route) => {
      expect(() => parseRoute(route, 'route')).toThrow(/must not be a path of the server itself/);
    },
  );
});
