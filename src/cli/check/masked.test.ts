import { describe, expect, it } from 'vitest';

import { masked, toldVariables } from './masked.js';

const SECRET = 's3cr3t';

describe('a report', () => {
  it.each([
    ['TSTRITON_CONFIG_ACCESS_TOKEN', SECRET],
    ['TSTRITON_CONFIG_HTTP_RESTRICTED_API', `inference:key=${SECRET}`],
    ['PYTRITON_TRITON_CONFIG_GRPC_RESTRICTED_PROTOCOL_0', `inference:key=${SECRET}`],
    ['OTEL_EXPORTER_OTLP_HEADERS', `authorization=Bearer ${SECRET}`],
    ['OTEL_EXPORTER_OTLP_HEADERS', `x=Basic ${SECRET}`],
    ['HTTPS_PROXY', `http://user:${SECRET}@proxy:3128`],
    ['NODE_OPTIONS', `--require=./a.js --my-api-key=${SECRET}`],
    ['OTEL_EXPORTER_OTLP_ENDPOINT', `https://collector/?token=${SECRET}&x=1`],
  ])('has no secret of %s', (name, value) => {
    expect(masked(name, value)).toContain('***');
    expect(masked(name, value)).not.toContain(SECRET);
  });

  it('has what is none, of the variables that have an effect', () => {
    const env = { TSTRITON_CONFIG_HTTP_PORT: '9000', HOME: '/home/x', http_proxy: 'http://proxy:1', PATH: '/bin' };
    expect(toldVariables(env)).toEqual([
      ['TSTRITON_CONFIG_HTTP_PORT', '9000'],
      ['http_proxy', 'http://proxy:1'],
    ]);
  });
});
