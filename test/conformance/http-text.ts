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
    body: Buffer.from(text),
  };
}

export function errorAnswer(status: number, message: string): HttpAnswer {
  return jsonAnswer(status, JSON.stringify({ error: message }));
}

/** The answer with another body; undefined when the body stays as it is. */
export function withText(answer: HttpAnswer, text: string): HttpAnswer | undefined {
  const body = Buffer.from(text);
  return body.equals(answer.body) ? undefined : { ...answer, body };
}

/** The message of an error answer. */
export function errorOf({ status, body }: HttpAnswer): string | undefined {
  if (status === undefined || status < 400 || body.length === 0) return undefined;
  return (JSON.parse(body.toString()) as { readonly error?: string }).error;
}

/** The answer with its message changed; undefined when it has none or the change leaves it alone. */
export function withError(answer: HttpAnswer, change: (message: string) => string): HttpAnswer | undefined {
  const message = errorOf(answer);
  if (message === undefined) return undefined;
  const changed = change(message);
  return changed === message ? undefined : { ...answer, body: Buffer.from(JSON.stringify({ error: changed })) };
}

export function isInfer({ request }: HttpCase): boolean {
  return request.method === 'POST' && request.path.split('?')[0]!.endsWith('/infer');
}

/** The text of a JSON request; '' for binary ones. */
export function requestText({ request }: HttpCase): string {
  return request.body ?? '';
}
