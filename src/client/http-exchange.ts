// One HTTP/1.1 request and its answer over an agent's connections. Bodies are whole: sent with their Content-Length,
// received into memory of their own, laid out so that what follows the JSON can be viewed as typed arrays.

import { request as plainRequest, type Agent, type ClientRequest, type IncomingMessage } from 'node:http';
import { request as tlsRequest } from 'node:https';

import type { TritonError } from '../errors.js';
import type { Call } from './call.js';
import { connectionError, nodeErrorCode, notTheProtocol } from './connection-error.js';
import { CLOSED_EARLY, type HttpRequest, type HttpResponse } from './http-wire.js';
import type { ServerUrl } from './parse-url.js';

/**
 * Rejects with UNAVAILABLE when there is no whole answer, and with the call's error when it is aborted: the
 * connection is closed then, which cancels the request at the server.
 *
 * A kept connection may be closed by the server at the very moment it is used again. What was sent over it is sent
 * once more, over a new one, if not a single byte came back. An inference may then, rarely, execute twice.
 */
export function exchange(server: ServerUrl, agent: Agent, request: HttpRequest, call: Call): Promise<HttpResponse> {
  return overLiveConnection(agent, call, () => attempt(server, agent, request, call));
}

/**
 * The same for an answer that comes in parts: settles with its head. Whoever takes the parts destroys the answer when the call is
 * aborted.
 */
export function openExchange(
  server: ServerUrl,
  agent: Agent,
  request: HttpRequest,
  call: Call,
): Promise<IncomingMessage> {
  return overLiveConnection(agent, call, () => attemptHead(server, agent, request, call));
}

async function overLiveConnection<T>(agent: Agent, call: Call, attemptOnce: () => Promise<T>): Promise<T> {
  call.throwIfAborted();
  try {
    return await attemptOnce();
  } catch (error) {
    if (!(error instanceof StaleConnection)) throw error;
    call.throwIfAborted();
    // The other kept connections may be as dead as this one was.
    for (const socket of Object.values(agent.freeSockets).flat()) socket?.destroy();
    try {
      return await attemptOnce();
    } catch (again) {
      throw again instanceof StaleConnection ? again.error : again;
    }
  }
}

/** The connection had been used before and ended before anything of the answer came. */
class StaleConnection extends Error {
  readonly error: TritonError;

  constructor(error: TritonError) {
    super(error.message);
    this.error = error;
  }
}

const LOST = new Set(['ECONNRESET', 'EPIPE']);

function attempt(server: ServerUrl, agent: Agent, request: HttpRequest, call: Call): Promise<HttpResponse> {
  return begin<HttpResponse>(server, agent, request, call, (clientRequest, response, { resolve, fail, forget }) => {
    let complete = false;
    collect(response, fail, (body) => {
      complete = true;
      forget();
      // An early answer: the server does not want the rest of the body.
      if (!clientRequest.writableFinished) clientRequest.destroy();
      const headerLength = response.headers['inference-header-content-length'] as string | undefined;
      resolve({ status: response.statusCode!, headerLength, body });
    });
    clientRequest.on('close', () => {
      if (!complete) fail(new Error(CLOSED_EARLY));
    });
  });
}

function attemptHead(server: ServerUrl, agent: Agent, request: HttpRequest, call: Call): Promise<IncomingMessage> {
  return begin<IncomingMessage>(server, agent, request, call, (_clientRequest, response, { resolve, forget }) => {
    forget();
    response.on('error', () => {});
    resolve(response);
  });
}

interface Outcome<T> {
  readonly resolve: (value: T) => void;
  readonly fail: (error: unknown) => void;
  /** The call's end is no longer this one's. */
  readonly forget: () => void;
}

function begin<T>(
  server: ServerUrl,
  agent: Agent,
  request: HttpRequest,
  call: Call,
  onResponse: (clientRequest: ClientRequest, response: IncomingMessage, outcome: Outcome<T>) => void,
): Promise<T> {
  return new Promise((resolve, reject) => {
    const clientRequest = open(server, agent, request);
    let bytesReadBefore = 0;
    let answered = false;
    const forget = call.onAbort((error) => {
      reject(error);
      clientRequest.destroy();
    });
    const fail = (error: unknown) => {
      forget();
      reject(toError(error, server.address));
    };
    clientRequest.once('socket', (socket) => (bytesReadBefore = socket.bytesRead));
    clientRequest.once('response', (response) => {
      answered = true;
      onResponse(clientRequest, response, { resolve, fail, forget });
    });
    // These listeners stay: a socket may fail at any time until it is back with the agent.
    clientRequest.on('error', (error) => {
      const silent = clientRequest.socket?.bytesRead === bytesReadBefore;
      if (clientRequest.reusedSocket && silent && LOST.has(nodeErrorCode(error))) {
        forget();
        reject(new StaleConnection(toError(error, server.address)));
      } else fail(error);
    });
    clientRequest.on('close', () => {
      if (!answered) fail(new Error(CLOSED_EARLY));
    });
    send(clientRequest, request.chunks);
  });
}

function open(server: ServerUrl, agent: Agent, { method, path, headers, chunks }: HttpRequest): ClientRequest {
  const { host, port, pathPrefix } = server;
  const length = chunks.reduce((sum, { byteLength }) => sum + byteLength, 0);
  const framed = method === 'POST' ? { ...headers, 'content-length': length } : headers;
  const options = { host, port, method, path: pathPrefix + path, headers: framed, agent };
  return server.tls ? tlsRequest(options) : plainRequest(options);
}

function send(clientRequest: ClientRequest, chunks: readonly Uint8Array[]): void {
  clientRequest.cork();
  for (const chunk of chunks) clientRequest.write(chunk);
  clientRequest.end();
  clientRequest.uncork();
}

function collect(response: IncomingMessage, fail: (error: unknown) => void, done: (body: Buffer) => void): void {
  const chunks: Buffer[] = [];
  response.on('data', (chunk: Buffer) => chunks.push(chunk));
  response.once('end', () => {
    if (response.complete) done(join(chunks, Number(response.headers['inference-header-content-length'])));
  });
  response.on('error', fail);
}

/** All chunks in memory that nothing else lies in, the byte at `aligned` on a multiple of 8. */
function join(chunks: readonly Buffer[], aligned: number): Buffer {
  const length = chunks.reduce((sum, chunk) => sum + chunk.length, 0);
  const start = aligned > 0 && aligned <= length ? (8 - (aligned % 8)) % 8 : 0;
  const body = Buffer.from(new ArrayBuffer(start + length), start, length);
  let offset = 0;
  for (const chunk of chunks) offset += chunk.copy(body, offset);
  return body;
}

export function toError(error: unknown, address: string): TritonError {
  return nodeErrorCode(error).startsWith('HPE_')
    ? notTheProtocol(error, address, 'HTTP')
    : connectionError(error, address);
}
