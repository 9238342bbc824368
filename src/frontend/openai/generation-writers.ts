// Writes generated text: as one answer, or as server-sent events while it comes.

import { TritonError } from '../../errors.js';
import type { HttpExchange } from '../../http1/http-exchange.js';
import { UNBUFFERED } from '../http/answer-stream.js';
import { answerJson } from '../http/answers.js';
import type { GenerationEndpoint, GenerationRequest } from './decode-generation.js';
import { type GenerationWriter, parsedToolCalls } from './generation.js';
import { type AnswerHead, answerHead, type ChoiceText, DONE, EventText, type ToolCall, type Usage, wholeAnswer } from './generation-json.js'; // prettier-ignore
import { answerOpenAiError, errorMembers } from './openai-errors.js';

export function generationWriter(
  endpoint: GenerationEndpoint,
  request: GenerationRequest,
  exchange: HttpExchange,
): GenerationWriter {
  const head = answerHead(endpoint, request.model);
  if (!request.isStream) {
    return new WholeWriter(endpoint, head, {
      exchange,
      count: request.choices.length,
      held: heldFor(request, exchange),
    });
  }
  return new EventWriter(new EventText(endpoint, head, request.includesUsage), request.includesUsage, exchange);
}

/** The bytes that the inputs of all choices take. */
export function heldFor({ inputBytes }: GenerationRequest, exchange: HttpExchange): number {
  return Math.max(inputBytes, exchange.request.bodyLength ?? 0);
}

/** Proxies must not collect the events. */
const EVENT_HEADERS = ['Content-Type', 'text/event-stream; charset=utf-8', 'Cache-Control', 'no-cache', ...UNBUFFERED];

class EventWriter implements GenerationWriter {
  readonly #events: EventText;
  readonly #includesUsage: boolean;
  readonly #exchange: HttpExchange;
  readonly #begun = new Set<number>();

  constructor(events: EventText, includesUsage: boolean, exchange: HttpExchange) {
    this.#events = events;
    this.#includesUsage = includesUsage;
    this.#exchange = exchange;
  }

  text(choice: number, text: string): void | Promise<void> {
    return this.#send(this.#role(choice) + this.#events.text(choice, text));
  }

  toolCalls(choice: number, calls: string): void | Promise<void> {
    // The model's own JSON may have lines, which would end the event.
    const json = JSON.stringify(parsedToolCalls(calls));
    return this.#send(this.#role(choice) + this.#events.toolCalls(choice, json));
  }

  finish(choice: number, reason: string): void {
    void this.#send(this.#role(choice) + this.#events.finish(choice, reason));
  }

  end(usage: Usage): void {
    this.#exchange.end(Buffer.from((this.#includesUsage ? this.#events.usage(usage) : '') + DONE));
  }

  fail(error: TritonError, refused: boolean): void {
    const exchange = this.#exchange;
    if (exchange.begun) exchange.end(Buffer.from(`data: ${JSON.stringify(errorMembers(error))}\n\n`));
    else answerOpenAiError(exchange, error, refused);
  }

  #role(choice: number): string {
    if (this.#begun.has(choice)) return '';
    this.#begun.add(choice);
    return this.#events.role(choice);
  }

  #send(events: string): void | Promise<void> {
    if (!this.#exchange.begun) this.#exchange.begin(200, EVENT_HEADERS);
    return this.#exchange.send(Buffer.from(events));
  }
}

/** The memory of a long answer is counted again after so many characters. */
const COUNTED_CHARACTERS = 65_536;

class WholeWriter implements GenerationWriter {
  readonly #endpoint: GenerationEndpoint;
  readonly #head: AnswerHead;
  readonly #exchange: HttpExchange;
  readonly #texts: string[];
  readonly #calls: ToolCall[][];
  readonly #reasons: string[] = [];
  /** What is counted without the answer. */
  readonly #held: number;
  #characters = 0;
  #counted = 0;

  constructor(
    endpoint: GenerationEndpoint,
    head: AnswerHead,
    { exchange, count, held }: { readonly exchange: HttpExchange; readonly count: number; readonly held: number },
  ) {
    this.#endpoint = endpoint;
    this.#head = head;
    this.#exchange = exchange;
    this.#held = held;
    this.#texts = Array.from({ length: count }, () => '');
    this.#calls = this.#texts.map(() => []);
  }

  text(choice: number, text: string): void {
    this.#hold(text.length);
    this.#texts[choice] += text;
  }

  toolCalls(choice: number, json: string): void {
    this.#hold(json.length);
    const calls = this.#calls[choice]!;
    for (const { index, id, type, function: part } of parsedToolCalls(json)) {
      const call = (calls[index ?? calls.length] ??= { function: { arguments: '' } });
      if (id !== undefined) call.id = id;
      if (type !== undefined) call.type = type;
      if (part?.name !== undefined) call.function.name = part.name;
      call.function.arguments += part?.arguments ?? '';
    }
  }

  finish(choice: number, reason: string): void {
    this.#reasons[choice] = reason;
  }

  end(usage: Usage): void {
    const choices = this.#texts.map((text, index): ChoiceText => {
      return { text, toolCalls: this.#calls[index]!, finishReason: this.#reasons[index]! };
    });
    answerJson(this.#exchange, 200, wholeAnswer(this.#endpoint, this.#head, { choices, usage }));
  }

  fail(error: TritonError, refused: boolean): void {
    answerOpenAiError(this.#exchange, error, refused);
  }

  /** Throws UNAVAILABLE where the server has no room for a longer answer. */
  #hold(characters: number): void {
    this.#characters += characters;
    if (this.#characters - this.#counted < COUNTED_CHARACTERS) return;
    this.#counted = this.#characters;
    if (!this.#exchange.hold(this.#held + 2 * this.#characters)) {
      throw new TritonError(
        'UNAVAILABLE',
        'the server has no room for the rest of the answer: try again later, or stream it',
      );
    }
  }
}
