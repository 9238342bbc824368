import { setImmediate as turn } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';

import { TritonError } from '../errors.js';
import type { ModelInferRequest } from '../model/exchange.js';
import { type EndedTrace, instanceLoss, type TraceContext } from '../observability/traces.js';
import { RequestTraces } from './request-traces.js';
import { TraceSettingsStore } from './trace-settings.js';

const SAMPLED = { traceparent: '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01' };

function request(traceContext?: TraceContext): ModelInferRequest {
  return {
    modelName: 'm',
    modelVersion: '',
    id: 'q',
    parameters: undefined,
    inputs: [],
    outputs: [],
    priority: 0,
    timeoutMicroseconds: 0,
    traceContext,
  };
}

function tracing(rate = 1) {
  const told: (readonly EndedTrace[])[] = [];
  const settings = new TraceSettingsStore({
    mode: 'opentelemetry',
    file: '',
    level: ['TIMESTAMPS'],
    rate,
    count: -1,
    logFrequency: 0,
  });
  const traces = new RequestTraces(settings, { onEnded: (ended) => told.push(ended), onRecords: () => undefined });
  return { told, traces, begin: (context?: TraceContext) => traces.begin(request(context), 3) };
}

describe('traces of requests', () => {
  it('begin for the requests that the settings choose, and for those of callers that trace', () => {
    const { begin } = tracing(2);
    expect([begin(), begin(), begin(SAMPLED)].map((trace) => trace?.hosted?.context)).toEqual([
      undefined,
      undefined,
      SAMPLED,
    ]);
    expect(begin()).toBeDefined();
    expect(begin()).toBeUndefined();
    expect(begin({ traceparent: SAMPLED.traceparent.replace(/01$/, '00') })).toBeDefined();
    expect(begin({ traceparent: SAMPLED.traceparent.replace(/01$/, '00') })).toBeUndefined();
  });

  it('take a malformed traceparent for none', () => {
    expect(tracing().begin({ traceparent: 'nonsense' })!.hosted!.context).toBeUndefined();
    expect(tracing(0).begin({ traceparent: 'nonsense' })).toBeUndefined();
  });

  it('that end without a callable are told together at the end of the turn', async () => {
    const { begin, told } = tracing();
    const failure = new TritonError('UNAVAILABLE', 'Exceeds maximum queue size');
    begin(SAMPLED)!.answered(false);
    begin()!.answered(true);
    begin()!.refused(failure);
    begin()!.failed(failure, false);
    expect(told).toEqual([]);
    await turn();
    const failed = { kind: 'failed', code: 'UNAVAILABLE', message: 'Exceeds maximum queue size' };
    expect(told).toHaveLength(1);
    expect(told[0]!.map(({ outcome }) => outcome)).toEqual([
      { kind: 'cached' },
      { ...failed, queued: false },
      { ...failed, queued: true },
    ]);
    const [first] = told[0]!;
    expect(first).toMatchObject({ context: SAMPLED, modelName: 'm', modelVersion: 3, requestId: 'q' });
    expect(first!.endedAt).toBeGreaterThanOrEqual(first!.startedAt);
    expect(structuredClone(told[0])).toEqual(told[0]);
  });

  it('that reached a callable are left to it, unless it is gone', async () => {
    const { begin, told } = tracing();
    begin()!.failed(new TritonError('UNAVAILABLE', 'its own'), true);
    await turn();
    expect(told).toEqual([]);
    begin()!.failed(instanceLoss('an instance ended'), true);
    await turn();
    expect(told[0]).toMatchObject([{ outcome: { kind: 'failed', message: 'an instance ended' } }]);
  });

  it('can be told at once, and then not again', async () => {
    const { begin, told, traces } = tracing();
    begin()!.answered(false);
    traces.flush();
    expect(told).toHaveLength(1);
    await turn();
    traces.flush();
    expect(told).toHaveLength(1);
  });
});
