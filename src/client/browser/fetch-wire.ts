// HTTP over `fetch`, for browsers and all other environments but Node. `fetch` manages its own connections, and says little about
// their failures.

import { TritonError } from '../../errors.js';
import type { Call } from '../call.js';
import { connectionError, tooLargeError } from '../connection-error.js';
import { HttpBody } from '../http/http-body.js';
import {
  CLOSED_EARLY,
  type AnswerHeaders,
  type HttpRequest,
  type HttpResponse,
  type HttpWire,
  type PartedResponse,
} from '../http/http-wire.js';
import type { ServerUrl } from '../parse-url.js';

export class FetchWire implements HttpWire {
  readonly address: string;
  readonly maxResponseBytes: number;

  constructor({ address }: ServerUrl, maxResponseBytes: number) {
    this.address = address;
    this.maxResponseBytes = maxResponseBytes;
  }

  async exchange(request: HttpRequest, call: Call): Promise<HttpResponse> {
    const controller = new AbortController();
    const forget = call.onAbort(() => controller.abort());
    try {
      const response = await this.#fetch(request, call, controller.signal);
      const headers = this.#checked(response);
      return { status: response.status, headers, body: await this.#bodyOf(response, headers, controller) };
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
      return new FetchedParts(await this.#fetch(request, call, controller.signal), controller);
    } catch (error) {
      call.throwIfAborted();
      throw this.failure(error);
    } finally {
      forget();
    }
  }

  failure(error: unknown): TritonError {
    if (TritonError.is(error)) return error;
    // Node's fetch gives the reason as the cause; browsers hide it from the page.
    const cause = error instanceof Error ? error.cause : undefined;
    return connectionError(cause instanceof Error ? cause : error, this.address);
  }

  async close(): Promise<void> {
    // Nothing to do: the client has aborted all calls, and their requests with them.
  }

  async #fetch({ method, path, headers, chunks }: HttpRequest, call: Call, signal: AbortSignal): Promise<Response> {
    const response = await fetch(this.address + path, {
      method,
      headers,
      signal,
      // Following a redirect would send the token to another server.
      redirect: 'manual',
      ...(method === 'POST' && { body: joined(chunks) }),
    });
    // `fetch` does not say when it connected.
    call.clock?.answered();
    if (response.type !== 'opaqueredirect' && (response.status < 300 || response.status > 399)) return response;
    await response.body?.cancel();
    throw new TritonError('UNKNOWN', `${this.address} answered with a redirect, which is not followed`);
  }

  /** Returns the headers that the client reads. Throws if one is missing that is needed to find the tensors. */
  #checked(response: Response): AnswerHeaders {
    const headers = headersOf(response);
    const isBinary = response.ok && headers['content-type'] === 'application/octet-stream';
    if (!isBinary || headers['inference-header-content-length'] !== undefined) return headers;
    throw new TritonError(
      'UNSUPPORTED',
      `${this.address} answered with binary tensors without the header Inference-Header-Content-Length; other origins need it in Access-Control-Expose-Headers`,
    );
  }

  async #bodyOf(response: Response, headers: AnswerHeaders, controller: AbortController): Promise<Buffer> {
    const body = new HttpBody(headers, this.maxResponseBytes);
    const parts = new FetchedParts(response, controller).parts();
    while (!body.isTooLarge) {
      const { done, value } = await parts.next();
      if (done === true) return body.end();
      body.add(Buffer.from(value.buffer, value.byteOffset, value.byteLength), 0, value.byteLength);
    }
    controller.abort();
    throw tooLargeError(this.maxResponseBytes, this.address);
  }
}

function headersOf({ headers }: Response): AnswerHeaders {
  const header = (name: string) => headers.get(name) ?? undefined;
  return {
    // In an answer with an encoded body, this is not the length of the decoded bytes.
    'content-length': headers.has('content-encoding') ? undefined : header('content-length'),
    'content-type': header('content-type'),
    'retry-after': header('retry-after'),
    'inference-header-content-length': header('inference-header-content-length'),
  };
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

  get headers(): AnswerHeaders {
    return headersOf(this.#response);
  }

  async *parts(): AsyncGenerator<Uint8Array, void, undefined> {
    // Not a `for await` loop over the body: Safari has no such loop.
    const reader = this.#response.body?.getReader();
    for (;;) {
      const step = reader && (await this.#unlessAborted(reader.read()));
      if (step === undefined || step.done) break;
      yield step.value as Uint8Array;
    }
    this.complete = true;
  }

  /** The fetch of Node 20 and 22 may never settle a read of an encoded body after an abort. */
  #unlessAborted<T>(read: Promise<T>): Promise<T> {
    const { signal } = this.#controller;
    return new Promise((resolve, reject) => {
      const onAbort = () => reject(TritonError.from(signal.reason));
      if (signal.aborted) onAbort();
      signal.addEventListener('abort', onAbort);
      void read.then(resolve, reject).finally(() => signal.removeEventListener('abort', onAbort));
    });
  }

  cancel(): void {
    if (!this.complete) this.#controller.abort(new TritonError('CANCELLED', CLOSED_EARLY));
  }
}

/** Joins the chunks in memory of its own, which is never shared. */
function joined(chunks: readonly Uint8Array[]): Uint8Array<ArrayBuffer> {
  const body = new Uint8Array(chunks.reduce((sum, { byteLength }) => sum + byteLength, 0));
  let offset = 0;
  for (const chunk of chunks) {
    body.set(chunk, offset);
    offset += chunk.byteLength;
  }
  return body;
}
