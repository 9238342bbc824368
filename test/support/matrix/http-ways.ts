// Clients of HTTP that are not ours: node:http, undici and fetch, with whole bodies and in chunks, compressed and not.
import { Agent, request as httpRequest, type IncomingMessage } from 'node:http';
import { setTimeout as later } from 'node:timers/promises';
import { gunzipSync, gzipSync } from 'node:zlib';

import { Pool } from 'undici';

import { binaryMessage, jsonMessage, readAnswer, type HttpMessage } from './http-message.js';
import { valuesOf, type Question } from './question.js';
import {
  ANSWERED_ONCE,
  FETCH_KEEPS_ABORTED_SOCKETS,
  forwarded,
  generated,
  type ReceivedAnswer,
  type Way,
} from './way.js';

const JSON_BYTES = 1_100_000;
/** How many pieces a slow reader takes slowly. */
const SLOW_PIECES = 50;
const LENGTH = 'inference-header-content-length';

/** In JSON now and then, where the tensors are not too large for it. */
function messageOf(question: Question): HttpMessage {
  const isJson = question.bytes < JSON_BYTES && question.manners.draw % 0.5 < 0.15;
  return isJson ? jsonMessage(question) : binaryMessage(question);
}

export const nodeHttp: Way = {
  limits: { models: ANSWERED_ONCE, mostBytes: 20_000_000 },
  weight: 15,
  adds: forwarded,
  open({ http }) {
    const agent = new Agent({ keepAlive: true, maxSockets: 24 });
    return {
      async ask(question, signal) {
        const { path, headers, body } = messageOf(question);
        const isPacked = question.bytes < JSON_BYTES && question.manners.draw < 0.15;
        const sent = isPacked ? gzipSync(body, { level: 1 }) : body;
        const asked = httpRequest(`${http}${path}`, {
          method: 'POST',
          agent,
          signal,
          headers: {
            ...headers,
            ...(isPacked ? { 'content-encoding': 'gzip', 'accept-encoding': 'gzip' } : {}),
            // Without a length it is sent in chunks.
            ...(question.manners.draw > 0.85 ? {} : { 'content-length': sent.length }),
          },
        });
        const answered = new Promise<IncomingMessage>((resolve, reject) =>
          asked.once('response', resolve).once('error', reject),
        );
        // It comes again with a body that breaks off.
        asked.on('error', () => undefined);
        if (question.manners.draw > 0.85) {
          const half = sent.length >> 1;
          asked.write(sent.subarray(0, half));
          asked.end(sent.subarray(half));
        } else {
          asked.end(sent);
        }
        const answer = await answered;
        const pieces: Buffer[] = [];
        for await (const piece of answer as AsyncIterable<Buffer>) {
          pieces.push(piece);
          if (question.manners.isSlow && pieces.length < SLOW_PIECES) await later(1);
        }
        const bytes = Buffer.concat(pieces);
        const isAnswerPacked = answer.headers['content-encoding'] === 'gzip';
        const length = answer.headers[LENGTH] as string | undefined;
        return [readAnswer(answer.statusCode!, length, isAnswerPacked ? gunzipSync(bytes) : bytes)];
      },
      close: () => agent.destroy(),
    };
  },
};

export const undici: Way = {
  limits: { models: ANSWERED_ONCE, mostBytes: 20_000_000 },
  weight: 10,
  adds: forwarded,
  open({ http }) {
    const pool = new Pool(http, { connections: 16, bodyTimeout: 0, headersTimeout: 0 });
    return {
      async ask(question, signal) {
        const { path, headers, body } = messageOf(question);
        const answer = await pool.request({ path, method: 'POST', headers, body, signal });
        const bytes = Buffer.from(await answer.body.arrayBuffer());
        return [readAnswer(answer.statusCode, answer.headers[LENGTH] as string | undefined, bytes)];
      },
      close: () => pool.destroy(),
    };
  },
};

/** The generate extension, with server-sent events for streams, in JSON without a name of a type. */
export const generate: Way = {
  limits: { models: { Whole: 1, Stream: 1 }, mostBytes: 70_000 },
  weight: 6,
  isPatient: FETCH_KEEPS_ABORTED_SOCKETS,
  adds: generated,
  open({ http }) {
    return {
      async ask({ model, id, parameters, tensors: [x, note], manners }, signal) {
        const answer = await fetch(`${http}/v2/models/${model}/generate${model === 'Stream' ? '_stream' : ''}`, {
          method: 'POST',
          body: JSON.stringify({ id, x: valuesOf(x!), note: valuesOf(note!)[0], parameters }),
          signal,
        });
        let text = '';
        const decoder = new TextDecoder();
        for await (const piece of answer.body as unknown as AsyncIterable<Uint8Array>) {
          text += decoder.decode(piece, { stream: true });
          if (manners.isSlow) await later(1);
        }
        if (answer.status !== 200) throw new Error(`status ${answer.status}: ${text.slice(0, 300)}`);
        if (model !== 'Stream') return [answerOf(text)];
        const events = text.split('\n\n');
        if (events.pop() !== '') throw new Error(`the events end with ${text.slice(-100)}`);
        return events.map((event) => answerOf(event.replace(/^data: /, '')));
      },
      close: () => undefined,
    };
  },
};

interface Generated {
  readonly id?: string;
  readonly y: number | readonly number[];
  readonly said: string;
  readonly error?: string;
}

function answerOf(text: string): ReceivedAnswer {
  const { id = '', y, said, error } = JSON.parse(text) as Generated;
  if (error !== undefined) throw new Error(error);
  return { id, y: Uint8Array.from([y].flat()), said: [said] };
}
