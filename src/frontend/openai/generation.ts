// One request for text under way: a choice for each answer that it asks for, and the writer of all of them.

import { StringDecoder } from 'node:string_decoder';

import type { ResponseSink } from '../../core/response-sink.js';
import { TritonError } from '../../errors.js';
import type { ModelInferResponse } from '../../model/exchange.js';
import type { Stages } from '../inference.js';
import type { GenerationRequest } from './decode-generation.js';
import type { ToolCall, Usage } from './generation-json.js';
import { type OpenAiRun, startOpenAi, textBytes, textOutput } from './openai-inference.js';

/** Takes what the models give for the choices of one request. A promise: the reader is slow. */
export interface GenerationWriter {
  text(choice: number, text: string): void | Promise<void>;
  /** `calls`: JSON in the form of a streamed answer. */
  toolCalls(choice: number, calls: string): void | Promise<void>;
  finish(choice: number, reason: string): void;
  /** All choices have finished. */
  end(usage: Usage): void;
  /** Nothing follows. `refused`: before any model ran. */
  fail(error: TritonError, refused: boolean): void;
}

export class Generation {
  readonly #request: GenerationRequest;
  readonly #run: Omit<OpenAiRun, 'sink'>;
  readonly #writer: GenerationWriter;
  readonly #running: Stages[] = [];
  /** The text that each answer begins with, until it has begun. */
  readonly #echoes: string[];
  readonly #decoders: (StringDecoder | undefined)[] = [];
  readonly #usages: (Usage | undefined)[] = [];
  #open: number;
  #isOver = false;

  constructor(request: GenerationRequest, run: Omit<OpenAiRun, 'sink'>, writer: GenerationWriter) {
    this.#request = request;
    this.#echoes = request.choices.map(({ echo }) => echo);
    this.#run = run;
    this.#writer = writer;
    this.#open = request.choices.length;
  }

  start(): void {
    this.#request.choices.forEach(({ inputs }, index) => {
      if (this.#isOver) return;
      this.#running.push(startOpenAi(inputs, { ...this.#run, sink: new ChoiceSink(this, index) }));
    });
    // A choice may have failed at once.
    if (this.#isOver) this.#cancelRest();
  }

  /** The client hung up. */
  cancel(): void {
    this.#isOver = true;
    this.#cancelRest();
  }

  // For the sinks.

  respond(index: number, { outputs }: ModelInferResponse): void | Promise<void> {
    if (this.#isOver) return undefined;
    const bytes = textBytes(outputs, 'text');
    const text = this.#echo(index) + (bytes === undefined ? '' : this.#decoderOf(index).write(bytes));
    const room = text === '' ? undefined : this.#writer.text(index, text);
    const calls = textOutput(outputs, 'tool_calls');
    if (calls === undefined) return room;
    return this.#writer.toolCalls(index, calls) ?? room;
  }

  finish(index: number, reason: string, usage: string | undefined): void {
    if (this.#isOver) return;
    const rest = this.#echo(index) + (this.#decoders[index]?.end() ?? '');
    if (rest !== '') void this.#writer.text(index, rest);
    this.#writer.finish(index, reason);
    this.#usages[index] = usageOf(usage);
    if (--this.#open > 0) return;
    this.#isOver = true;
    this.#writer.end(this.#usage());
  }

  fail(error: TritonError, refused: boolean): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#writer.fail(error, refused);
    this.#cancelRest();
  }

  /** The text that an answer begins with, once: a failure before the model has answered still decides the status. */
  #echo(index: number): string {
    const echo = this.#echoes[index]!;
    this.#echoes[index] = '';
    return echo;
  }

  /** Holds the first bytes of a character back until the others come. */
  #decoderOf(index: number): StringDecoder {
    return (this.#decoders[index] ??= new StringDecoder('utf8'));
  }

  #cancelRest(): void {
    for (const stages of this.#running) stages.cancel();
  }

  /** Each prompt counts once, however many answers it has. */
  #usage(): Usage {
    let [prompt_tokens, completion_tokens] = [0, 0];
    this.#usages.forEach((usage, index) => {
      if (usage === undefined) return;
      if (index % this.#request.perPrompt === 0) prompt_tokens += usage.prompt_tokens;
      completion_tokens += usage.completion_tokens;
    });
    return { prompt_tokens, completion_tokens, total_tokens: prompt_tokens + completion_tokens };
  }
}

/** Takes the responses for one choice. */
class ChoiceSink implements ResponseSink {
  readonly #generation: Generation;
  readonly #index: number;
  #reason = 'stop';
  #usage: string | undefined;

  constructor(generation: Generation, index: number) {
    this.#generation = generation;
    this.#index = index;
  }

  respond(response: ModelInferResponse, final: boolean): void | Promise<void> {
    try {
      const room = this.#generation.respond(this.#index, response);
      this.#reason = textOutput(response.outputs, 'finish_reason') ?? this.#reason;
      this.#usage = textOutput(response.outputs, 'usage') ?? this.#usage;
      if (!final) return room;
      this.complete();
    } catch (error) {
      this.fail(TritonError.from(error));
    }
  }

  complete(): void {
    try {
      this.#generation.finish(this.#index, this.#reason, this.#usage);
    } catch (error) {
      this.fail(TritonError.from(error));
    }
  }

  fail(error: TritonError, refused = false): void {
    this.#generation.fail(error, refused);
  }
}

function usageOf(json: string | undefined): Usage | undefined {
  if (json === undefined) return undefined;
  const given = parsedOutput('usage', json) as Partial<Record<keyof Usage, unknown>> | null;
  const count = (name: keyof Usage) => (Number.isSafeInteger(given?.[name]) ? (given![name] as number) : 0);
  const [prompt_tokens, completion_tokens] = [count('prompt_tokens'), count('completion_tokens')];
  return { prompt_tokens, completion_tokens, total_tokens: prompt_tokens + completion_tokens };
}

/** A call of a tool or a piece of one, in the form of a streamed answer. */
export interface ToolCallDelta extends Partial<ToolCall> {
  readonly index?: number;
}

/** The most calls of tools in one answer. */
const MOST_TOOL_CALLS = 1024;

/** Throws INTERNAL when a model gave anything but a JSON list of calls, each with a place among so many. */
export function parsedToolCalls(json: string): readonly ToolCallDelta[] {
  const given = parsedOutput('tool_calls', json);
  const isCall = (call: Partial<Record<keyof ToolCallDelta, unknown>> | null) => {
    if (typeof call !== 'object' || call === null) return false;
    const { index = 0 } = call;
    return Number.isInteger(index) && (index as number) >= 0 && (index as number) < MOST_TOOL_CALLS;
  };
  if (Array.isArray(given) && given.every(isCall)) return given as readonly ToolCallDelta[];
  throw new TritonError('INTERNAL', "the model gave 'tool_calls' that is not a list of calls");
}

/** Throws INTERNAL when a model gave something else than JSON. */
export function parsedOutput(name: string, json: string): unknown {
  try {
    return JSON.parse(json) as unknown;
  } catch (error) {
    throw new TritonError('INTERNAL', `the model gave '${name}' that is not JSON: ${(error as Error).message}`);
  }
}
