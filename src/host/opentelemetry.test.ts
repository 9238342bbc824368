import * as api from '@opentelemetry/api';
import { describe, expect, it } from 'vitest';

import { loadOpenTelemetry, SERVER_SPAN, type OpenTelemetry } from './opentelemetry.js';

describe('@opentelemetry/api', () => {
  it('is what is described of it', () => {
    const described: OpenTelemetry = api;
    expect(described.trace).toBe(api.trace);
    expect(SERVER_SPAN).toBe(api.SpanKind.SERVER);
  });

  it('is loaded where it is installed', async () => {
    expect((await loadOpenTelemetry()).ROOT_CONTEXT).toBe(api.ROOT_CONTEXT);
  });

  it('is named when it cannot be loaded', async () => {
    const cause = new Error('Cannot find package');
    await expect(loadOpenTelemetry(() => Promise.reject(cause))).rejects.toMatchObject({
      code: 'UNSUPPORTED',
      message:
        'traceConfig with mode=opentelemetry needs the package @opentelemetry/api, which could not be loaded: Cannot find package',
      cause,
    });
  });
});
