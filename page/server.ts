// What the page asks the server, with the headers that the server wants for it. They are kept here alone, in memory.

import type { PageFiguresJson, PageLogJson, PageModelsJson } from '../src/frontend/page/page-json.js';
import { type Answer, decodeInfer, encodeInfer, EventReader, type Parameter, type SentTensor, type StreamEvent } from './infer.js'; // prettier-ignore

/** The page lies at the root of the server. */
const ROOT = new URL('.', location.href).href.replace(/\/$/, '');

export const ORIGIN: string = ROOT;

/** By the lower-case names of headers. */
const tokens = new Map<string, string>();

/** The server wants a header that the page does not have, or has with a wrong value. */
export class TokenWanted extends Error {
  readonly header: string;

  constructor(header: string) {
    super(`the server wants the header '${header}'`);
    this.header = header;
  }
}

/** The server answered with an error. */
export class Refused extends Error {
  readonly status: number;

  constructor(message: string, status: number) {
    super(message);
    this.status = status;
  }
}

export function keepToken(header: string, value: string): void {
  tokens.set(header.toLowerCase(), value);
}

/** The first header that was asked for, for code that calls the server. */
export function tokenHeader(): string | undefined {
  return tokens.keys().next().value;
}

interface Asked extends RequestInit {
  readonly headers?: Readonly<Record<string, string>>;
}

async function ask(path: string, { headers, ...init }: Asked = {}): Promise<Response> {
  let response: Response;
  try {
    response = await fetch(`${ROOT}/${path}`, { ...init, headers: { ...headers, ...Object.fromEntries(tokens) } });
  } catch (error) {
    if (init.signal?.aborted === true) throw error;
    throw new Error('the server does not answer', { cause: error });
  }
  if (response.ok) return response;
  const message = await messageOf(response);
  const header = /expecting header '([^']+)'/.exec(message)?.[1];
  if (response.status === 403 && header !== undefined) throw new TokenWanted(header);
  throw new Refused(message, response.status);
}

async function messageOf(response: Response): Promise<string> {
  const text = await response.text();
  try {
    const { error } = JSON.parse(text) as { readonly error?: unknown };
    if (typeof error === 'string') return error;
  } catch {
    // Something between the page and the server has answered.
  }
  return `the server answers with the status ${response.status}`;
}

async function json(path: string): Promise<unknown> {
  return (await ask(path)).json();
}

export async function fetchModels(): Promise<PageModelsJson> {
  return (await json('page/models')) as PageModelsJson;
}

export async function fetchFigures(): Promise<PageFiguresJson> {
  return (await json('page/figures')) as PageFiguresJson;
}

/** The entries of the log behind this one. */
export async function fetchLog(after: number): Promise<PageLogJson> {
  return (await json(`page/log?after=${after}`)) as PageLogJson;
}

export async function fetchConfig(model: string, version: string): Promise<unknown> {
  return json(`${modelPath(model, version)}/config`);
}

/** Servers compare names as they come. */
function modelPath(model: string, version: string): string {
  return `v2/models/${model}/versions/${version}`;
}

export interface Request {
  readonly model: string;
  readonly version: string;
  readonly parameters: Readonly<Record<string, Parameter>>;
  readonly signal: AbortSignal;
}

export async function infer(
  { model, version, parameters, signal }: Request,
  inputs: readonly SentTensor[],
): Promise<Answer> {
  const { headerLength, body } = encodeInfer(inputs, parameters);
  const headers = {
    'Content-Type': 'application/octet-stream',
    'Inference-Header-Content-Length': String(headerLength),
  };
  const response = await ask(`${modelPath(model, version)}/infer`, { method: 'POST', body, headers, signal });
  const length = response.headers.get('Inference-Header-Content-Length');
  return decodeInfer(new Uint8Array(await response.arrayBuffer()), length === null ? undefined : Number(length));
}

/** `inputs`: JSON texts by name. */
export async function* generate(
  { model, version, parameters, signal }: Request,
  inputs: readonly (readonly [name: string, json: string])[],
): AsyncGenerator<StreamEvent> {
  const members = [
    ...inputs,
    ...Object.entries(parameters).map(([name, value]) => [name, JSON.stringify(value)] as const),
  ];
  const body = `{${members.map(([name, value]) => `${JSON.stringify(name)}:${value}`).join(',')}}`;
  const headers = { 'Content-Type': 'application/json' };
  const response = await ask(`${modelPath(model, version)}/generate_stream`, { method: 'POST', body, headers, signal });
  const events = new EventReader();
  const reader = response.body!.getReader();
  try {
    for (let next = await reader.read(); !next.done; next = await reader.read()) yield* events.read(next.value);
  } finally {
    await reader.cancel().catch(() => undefined);
  }
}
