// Spans of ours through a collector of the OpenTelemetry project, which takes OTLP and nothing that is not: what it hands on is what the
// SDK recorded in the process, id by id.
import { spawn, type ChildProcess } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { trace } from '@opentelemetry/api';
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-proto';
import { InMemorySpanExporter, NodeTracerProvider, SimpleSpanProcessor } from '@opentelemetry/sdk-trace-node';
import { afterAll, beforeAll, expect, it, vi } from 'vitest';

import { TritonError } from 'tstriton';

import { inferJson, startServer } from '../support/start-server.js';
import { freePort } from '../support/ports.js';
import { ended } from './start-triton.js';
import { type CollectedSpan, TraceCollector } from './trace-collector.js';

const TENSOR = { dtype: 'float32', shape: [-1] } as const;
const CALLER = { traceId: '0af7651916cd43dd8448eb211c80319c', spanId: 'b7ad6b7169203331' } as const;

let sink: TraceCollector;
let collector: ChildProcess;
let folder: string;
let port: number;
beforeAll(async () => {
  const binary = process.env['OTEL_COLLECTOR'];
  if (binary === undefined) throw new Error('OTEL_COLLECTOR names no collector; test/live/collector/run.sh builds one');
  sink = await TraceCollector.open();
  port = await freePort();
  folder = mkdtempSync(join(tmpdir(), 'collector-'));
  const config = {
    receivers: { otlp: { protocols: { http: { endpoint: `127.0.0.1:${port}` } } } },
    exporters: {
      otlphttp: { traces_endpoint: sink.url, encoding: 'json', compression: 'none', sending_queue: { enabled: false } },
    },
    service: {
      telemetry: { metrics: { level: 'none' } },
      pipelines: { traces: { receivers: ['otlp'], exporters: ['otlphttp'] } },
    },
  };
  // JSON is YAML.
  writeFileSync(join(folder, 'config.yaml'), JSON.stringify(config));
  collector = spawn(binary, ['--config', `file:${join(folder, 'config.yaml')}`], {
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  let said = '';
  collector.stderr!.on('data', (text: Buffer) => (said += text.toString()));
  const listens = async () => {
    if (collector.exitCode !== null) throw new Error(`the collector ended: ${said}`);
    return (await fetch(`http://127.0.0.1:${port}/`).catch(() => undefined)) !== undefined;
  };
  await vi.waitUntil(listens, { timeout: 60_000, interval: 50 });
});
afterAll(async () => {
  await ended(collector);
  await sink[Symbol.asyncDispose]();
  rmSync(folder, { recursive: true, force: true });
});

const textOf = (value: Readonly<Record<string, unknown>>) => String(Object.values(value)[0]);

function collected({ name, traceId, spanId, parentSpanId = '', kind, attributes = [], status = {} }: CollectedSpan) {
  const told = attributes.map(({ key, value }) => [key, textOf(value)] as const);
  return { name, traceId, spanId, parentSpanId, kind, code: status.code ?? 0, attributes: Object.fromEntries(told) };
}

it.each([{ serverThread: true }, { serverThread: false }])(
  'a collector takes all that is traced, and hands it on as it was recorded, with %o',
  async ({ serverThread }) => {
    const recorded = new InMemorySpanExporter();
    const exporter = new OTLPTraceExporter({ url: `http://127.0.0.1:${port}/v1/traces` });
    const provider = new NodeTracerProvider({
      spanProcessors: [new SimpleSpanProcessor(recorded), new SimpleSpanProcessor(exporter)],
    });
    provider.register();
    try {
      await using server = await startServer(
        (triton) => {
          const tensors = { inputs: { x: TENSOR }, outputs: { y: TENSOR } };
          triton.bind({ modelName: 'inner', ...tensors, inferFunc: (requests) => requests });
          triton.bind({
            modelName: 'outer',
            ...tensors,
            inferFunc: async ([request], { models }) => {
              const { y } = await models['inner']!.infer({ x: request!.inputs.x! });
              return [{ y }] as never;
            },
          });
          triton.bind({
            modelName: 'fails',
            ...tensors,
            inferFunc: () => {
              throw new TritonError('UNAVAILABLE', 'größer "no"');
            },
          });
        },
        { serverThread, traceConfig: ['mode=opentelemetry', 'level=TIMESTAMPS', 'rate=1'] },
      );
      const x = [{ name: 'x', datatype: 'FP32', shape: [1, 2], data: [1, 2] }];
      const traceparent = `00-${CALLER.traceId}-${CALLER.spanId}-01`;
      const body = JSON.stringify({ id: 'q', inputs: x });
      const url = `${server.http}/v2/models/outer/infer`;
      expect((await fetch(url, { method: 'POST', body, headers: { traceparent } })).status).toBe(200);
      expect((await inferJson(server.http, 'fails', x)).status).toBe(503);
      const first = await sink.requests(3);
      await provider.forceFlush();
      const expected = recorded.getFinishedSpans().map((span) => ({
        name: span.name,
        ...(({ traceId, spanId }) => ({ traceId, spanId }))(span.spanContext()),
        parentSpanId: span.parentSpanContext?.spanId ?? '',
        // The protocol counts kinds from 1.
        kind: span.kind + 1,
        code: span.status.code,
        attributes: Object.fromEntries(Object.entries(span.attributes).map(([key, value]) => [key, String(value)])),
      }));
      const spans = [...first, ...(await sink.further(expected.length - first.length))].map(collected);
      const bySpan = (a: { readonly spanId: string }, b: { readonly spanId: string }) => (a.spanId < b.spanId ? -1 : 1);
      expect(spans.toSorted(bySpan)).toEqual(expected.toSorted(bySpan));
      const root = spans.find((span) => span.parentSpanId === CALLER.spanId)!;
      expect(root).toMatchObject({
        name: 'InferRequest',
        traceId: CALLER.traceId,
        attributes: { 'triton.model_name': 'outer' },
      });
      expect(spans.find((span) => span.attributes['triton.model_name'] === 'inner')).toMatchObject({
        traceId: CALLER.traceId,
      });
      expect(spans.find((span) => span.attributes['triton.model_name'] === 'fails')).toMatchObject({ code: 2 });
    } finally {
      await provider.shutdown();
      trace.disable();
    }
  },
);
