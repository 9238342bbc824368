// An OpenTelemetry collector for one test: takes the spans that tritonserver exports over HTTP, as OTLP's JSON, and
// keeps of them what is compared.
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';

import { vi } from 'vitest';

interface Named {
  readonly name: string;
}

interface Attribute {
  readonly key: string;
  readonly value: Readonly<Record<string, unknown>>;
}

/** A span of the protocol's JSON; a member without anything in it is not there. */
export interface CollectedSpan extends Named {
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId?: string;
  /** 1 is INTERNAL, 2 SERVER. */
  readonly kind: number;
  readonly attributes?: readonly Attribute[];
  readonly events?: readonly Named[];
  readonly links?: readonly unknown[];
  readonly status?: { readonly code?: number };
}

interface ExportRequest {
  readonly resourceSpans: readonly {
    readonly scopeSpans: readonly { readonly spans: readonly CollectedSpan[] }[];
  }[];
}

export class TraceCollector implements AsyncDisposable {
  #spans: CollectedSpan[] = [];
  readonly #server: Server;

  private constructor() {
    this.#server = createServer((request, response) => {
      const pieces: Buffer[] = [];
      request.on('data', (piece: Buffer) => pieces.push(piece));
      request.on('end', () => {
        const { resourceSpans } = JSON.parse(Buffer.concat(pieces).toString()) as ExportRequest;
        this.#spans.push(...resourceSpans.flatMap(({ scopeSpans }) => scopeSpans.flatMap(({ spans }) => spans)));
        response.end();
      });
    });
  }

  static async open(): Promise<TraceCollector> {
    const collector = new TraceCollector();
    await new Promise<void>((resolve) => collector.#server.listen(0, '127.0.0.1', resolve));
    return collector;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}/v1/traces`;
  }

  /** The spans since the last time, when as many requests have been traced to their ends. */
  async requests(count: number): Promise<readonly CollectedSpan[]> {
    const traced = () => this.#spans.filter(({ name }) => name === 'InferRequest').length >= count;
    await vi.waitUntil(traced, { timeout: 20_000, interval: 20 });
    return this.#take();
  }

  /** This many further spans, which may come after those of the requests. */
  async further(count: number): Promise<readonly CollectedSpan[]> {
    await vi.waitUntil(() => this.#spans.length >= count, { timeout: 20_000, interval: 20 });
    return this.#take();
  }

  #take(): readonly CollectedSpan[] {
    const spans = this.#spans;
    this.#spans = [];
    return spans;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }
}
