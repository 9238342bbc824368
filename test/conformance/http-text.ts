// Small tools for rules about HTTP answers: answers made of a status and a text, and the JSON in them.
import type { HttpCase } from './cases.js';
import type { HttpAnswer } from './replay-http.js';

export function jsonAnswer(status: number, text: string): HttpAnswer {
  return {
    end: 'answered',
    status,
    contentType: 'application/json',
    jsonLength: undefined,
    framing: 'length',
    coding: undefined,
    others: [],
    chunks: undefined,
    body: Buffer.from(text),
  };
}

export function errorAnswer(status: number, message: string): HttpAnswer {
  return jsonAnswer(status, JSON.stringify({ error: message }));
}

/** The answer to what is no HTTP: the last one on its connection. */
export function malformedAnswer(message: string): HttpAnswer {
  return { ...errorAnswer(400, `malformed HTTP request: ${message}`), others: ['connection: close'] };
}

/** The answer with its body changed; undefined when the change leaves it alone. */
export function withText(answer: HttpAnswer, change: (text: string) => string): HttpAnswer | undefined {
  const text = answer.body.toString();
  const changed = change(text);
  return changed === text ? undefined : { ...answer, body: Buffer.from(changed) };
}

/** The message of an error answer, which may be an event. */
export function errorOf(answer: HttpAnswer): string | undefined {
  const { status, body } = answer;
  if (status === undefined || status < 400 || body.length === 0) return undefined;
  return (JSON.parse(body.toString().replace(/^data: /, '')) as { readonly error?: string }).error;
}

/** The answer with its message changed; undefined when it has none or the change leaves it alone. */
export function withError(answer: HttpAnswer, change: (message: string) => string): HttpAnswer | undefined {
  const message = errorOf(answer);
  if (message === undefined) return undefined;
  const changed = change(message);
  if (changed === message) return undefined;
  const json = JSON.stringify({ error: changed });
  return { ...answer, body: Buffer.from(answer.body.toString().startsWith('data: ') ? `data: ${json}\n\n` : json) };
}

export function isInfer({ request }: HttpCase): boolean {
  return request.method === 'POST' && request.path.split('?')[0]!.endsWith('/infer');
}

/** The text of a request; of a binary one with its other bytes read as Latin-1. */
export function requestText({ request }: HttpCase): string {
  return request.body ?? Buffer.from(request.body_base64 ?? '', 'base64').toString('latin1');
}
