// HTTP over `fetch`, for browsers and all else that is not Node. It keeps its connections itself, and says little about what
// went wrong with them.

import { TritonError } from '../errors.js';
import type { Call } from './call.js';
import { connectionError } from './connection-error.js';
import { CLOSED_EARLY, type HttpRequest, type HttpResponse, type HttpWire, type PartedResponse } from './http-wire.js';
import type { ServerUrl } from './parse-url.js';

export class FetchWire implements HttpWire {
  readonly #server: ServerUrl;

  constructor(server: ServerUrl) {
    this.#server = server;
  }

  async exchange(request: HttpRequest, call: Call): Promise<HttpResponse> {
    const controller = new AbortController();
    const forget = call.onAbort(() => controller.abort());
    try {
      const response = await this.#fetch(request, controller.signal);
      const body = await response.arrayBuffer();
      return { status: response.status, headerLength: this.#headerLength(response), body: Buffer.from(body) };
    } catch (error) {
      call.throwIfAborted();
      throw this.failure(error);
    } finally {
      forget();
    }
  }

  async open(request: HttpRequest, call: Call): Promise<PartedResponse> {
    const controller = new AbortController();
    const forget = call.onAbort(() => controller.abort());
    try {
      return new FetchedParts(await this.#fetch(request, controller.signal), controller);
    } catch (error) {
      call.throwIfAborted();
      throw this.failure(error);
    } finally {
      forget();
    }
  }

  failure(error: unknown): TritonError {
    if (TritonError.is(error)) return error;
    // Node's fetch has the reason as the cause; browsers keep it from the page.
    const cause = error instanceof Error ? error.cause : undefined;
    return connectionError(cause instanceof Error ? cause : error, this.#server.address);
  }

  async close(): Promise<void> {
    // What is under way was aborted with its calls.
  }

  async #fetch({ method, path, headers, chunks }: HttpRequest, signal: AbortSignal): Promise<Response> {
    const response = await fetch(this.#server.address + path, {
      method,
      headers,
      signal,
      // Elsewhere the token would be somebody else's.
      redirect: 'manual',
      ...(method === 'POST' && { body: joined(chunks) }),
    });
    if (response.type !== 'opaqueredirect' && (response.status < 300 || response.status > 399)) return response;
    await response.body?.cancel();
    throw new TritonError('UNKNOWN', `${this.#server.address} answered with a redirect, which is not followed`);
  }

  #headerLength({ ok, headers }: Response): string | undefined {
    const length = headers.get('inference-header-content-length');
    if (length !== null) return length;
    if (!ok || headers.get('content-type') !== 'application/octet-stream') return undefined;
    throw new TritonError(
      'UNSUPPORTED',
      `${this.#server.address} answered with binary tensors, but without the header Inference-Header-Content-Length that says where they begin; another origin's page reads it only where Access-Control-Expose-Headers names it`,
    );
  }
}

class FetchedParts implements PartedResponse {
  readonly #response: Response;
  readonly #controller: AbortController;
  complete = false;

  constructor(response: Response, controller: AbortController) {
    this.#response = response;
    this.#controller = controller;
  }

  get status(): number {
    return this.#response.status;
  }

  get contentType(): string | undefined {
    return this.#response.headers.get('content-type') ?? undefined;
  }

  async *parts(): AsyncGenerator<Uint8Array, void, undefined> {
    // Not a loop over the body: Safari has none.
    const reader = this.#response.body?.getReader();
    for (;;) {
      const step = await reader?.read();
      if (step === undefined || step.done) break;
      yield step.value as Uint8Array;
    }
    this.complete = true;
  }

  cancel(): void {
    if (!this.complete) this.#controller.abort(new TritonError('CANCELLED', CLOSED_EARLY));
  }
}

/** In memory of its own, which may be shared with nobody. */
function joined(chunks: readonly Uint8Array[]): Uint8Array<ArrayBuffer> {
  const body = new Uint8Array(chunks.reduce((sum, { byteLength }) => sum + byteLength, 0));
  let offset = 0;
  for (const chunk of chunks) {
    body.set(chunk, offset);
    offset += chunk.byteLength;
  }
  return body;
}
