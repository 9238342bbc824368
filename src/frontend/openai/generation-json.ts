// The JSON of generated text: whole answers, and the events of streams.

import type { GenerationEndpoint } from './decode-generation.js';

/** Numbers of tokens, in the form of the API. */
export interface Usage {
  readonly prompt_tokens: number;
  readonly completion_tokens: number;
  readonly total_tokens: number;
}

/** What a model gave for one choice so far. */
export interface ChoiceText {
  readonly text: string;
  readonly toolCalls: readonly ToolCall[];
  readonly finishReason: string;
}

export interface ToolCall {
  id?: string;
  type?: string;
  readonly function: { name?: string; arguments: string };
}

export interface AnswerHead {
  readonly id: string;
  /** Seconds since 1970. */
  readonly created: number;
  readonly model: string;
}

const ID = { chat: 'chatcmpl-', completions: 'cmpl-' } as const;
const WHOLE = { chat: 'chat.completion', completions: 'text_completion' } as const;
const CHUNK = { chat: 'chat.completion.chunk', completions: 'text_completion' } as const;

export function answerHead(endpoint: GenerationEndpoint, model: string): AnswerHead {
  const id = ID[endpoint] + globalThis.crypto.randomUUID().replaceAll('-', '');
  return { id, created: Math.floor(Date.now() / 1000), model };
}

export function wholeAnswer(
  endpoint: GenerationEndpoint,
  { id, created, model }: AnswerHead,
  { choices, usage }: { readonly choices: readonly ChoiceText[]; readonly usage: Usage },
): object {
  return {
    id,
    object: WHOLE[endpoint],
    created,
    model,
    choices: choices.map(endpoint === 'chat' ? chatChoice : completionChoice),
    usage,
  };
}

function chatChoice({ text, toolCalls, finishReason }: ChoiceText, index: number): object {
  const calls = toolCalls.length === 0 ? {} : { tool_calls: toolCalls };
  // A message of calls alone has no content.
  const content = text === '' && toolCalls.length > 0 ? null : text;
  const message = { role: 'assistant', content, refusal: null, ...calls };
  return { index, message, logprobs: null, finish_reason: finishReason };
}

function completionChoice({ text, finishReason }: ChoiceText, index: number): object {
  return { text, index, logprobs: null, finish_reason: finishReason };
}

/** Makes the events of a stream. Most have one token each, so the text around it is made once. */
export class EventText {
  readonly #head: string;
  readonly #isChat: boolean;
  /** Before and after the text of the first choice. */
  readonly #before: string;
  readonly #after: string;
  readonly #end: string;

  constructor(endpoint: GenerationEndpoint, { id, created, model }: AnswerHead, includesUsage: boolean) {
    const head = JSON.stringify({ id, object: CHUNK[endpoint], created, model });
    this.#isChat = endpoint === 'chat';
    this.#head = `data: ${head.slice(0, -1)},"choices":[`;
    this.#end = `]${includesUsage ? ',"usage":null' : ''}}\n\n`;
    this.#before = this.#head + (this.#isChat ? '{"index":0,"delta":{"content":' : '{"index":0,"text":');
    this.#after = `${this.#isChat ? '}' : ''},"logprobs":null,"finish_reason":null}${this.#end}`;
  }

  /** The first event of a choice in a chat. */
  role(index: number): string {
    return this.#isChat ? this.#delta(index, '{"role":"assistant","content":""}') : '';
  }

  text(index: number, text: string): string {
    const json = JSON.stringify(text);
    if (index === 0) return this.#before + json + this.#after;
    return this.#delta(index, this.#isChat ? `{"content":${json}}` : json);
  }

  /** `calls`: a JSON list. */
  toolCalls(index: number, calls: string): string {
    return this.#delta(index, `{"tool_calls":${calls}}`);
  }

  finish(index: number, reason: string): string {
    return this.#delta(index, this.#isChat ? '{}' : '""', JSON.stringify(reason));
  }

  usage(usage: Usage): string {
    return `${this.#head}],"usage":${JSON.stringify(usage)}}\n\n`;
  }

  #delta(index: number, delta: string, reason = 'null'): string {
    const name = this.#isChat ? 'delta' : 'text';
    return `${this.#head}{"index":${index},"${name}":${delta},"logprobs":null,"finish_reason":${reason}}${this.#end}`;
  }
}

/** The event behind the last one. */
export const DONE = 'data: [DONE]\n\n';
