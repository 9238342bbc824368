// Turns what a user's function gives for one request, text by text, into the outputs of the model. The answer ends before a
// stop sequence and after the most tokens, whether or not the function looks at them.

import { TritonError } from '../errors.js';
import { describeValue } from '../checks/check.js';
import { type Awaitable, disownPromises, isPromiseLike } from '../model/awaitable.js';
import { isSteps, type Steps } from '../model/steps.js';
import { tagOf } from '../tensor/tag-of.js';
import type { GenerationOptions } from './generation-request.js';
import { StopText } from './stop-text.js';
import { ToolCalls, type ToolCallPart } from './tool-calls.js';

/** Why an answer has ended. */
export type FinishReason = 'stop' | 'length' | 'tool_calls' | 'content_filter';

/** Numbers of tokens. Default: 0 of the prompt, and one for each text of the answer. */
export interface TokenUsage {
  readonly promptTokens?: number;
  readonly completionTokens?: number;
}

/** A piece of an answer: the next token's text, or an object to say more. */
export type CompletionPart =
  | string
  | {
      readonly text?: string;
      /** Default: `length` after the most tokens, `tool_calls` after a call of a tool, `stop` otherwise. */
      readonly finishReason?: FinishReason;
      /** The last numbers count. */
      readonly usage?: TokenUsage;
    };

/** A piece of an answer in a chat. */
export type ChatPart =
  | CompletionPart
  | (Exclude<CompletionPart, string> & {
      /** Tools that the model asks for. */
      readonly toolCalls?: readonly ToolCallPart[];
    });

/** What a function for text gives: the pieces as they come, as a generator does, or the whole answer. */
export type Generated<Part> = Awaitable<Part | Steps<Part>>;

/** Outputs by name, each of one text. */
type Outputs = Readonly<Record<string, readonly [readonly [string]]>>;

const MEMBERS: readonly string[] = ['text', 'finishReason', 'usage'];
const CHAT_MEMBERS: readonly string[] = [...MEMBERS, 'toolCalls'];
const FINISH_REASONS: readonly FinishReason[] = ['stop', 'length', 'tool_calls', 'content_filter'];

/** Text that a piece has cut within a character: what crosses to the server is UTF-8, which has no halves. */
const FIRST_HALF = /[\ud800-\udbff]$/;

/** Who gives the pieces. */
export interface Giver {
  /** The function with its model, for errors. */
  readonly what: string;
  /** Whether it may ask for tools. */
  readonly usesTools: boolean;
}

/** Makes the steps of the model from what its function gave. The steps throw INTERNAL for anything but pieces. */
export function generate(
  generated: Generated<ChatPart>,
  options: GenerationOptions,
  giver: Giver,
): Awaitable<Steps<Outputs>> {
  if (isPromiseLike(generated)) return generated.then((here) => generate(here, options, giver));
  const steps: Steps<ChatPart> = isPieces(generated) ? generated : [generated];
  const generation = new Generation(options, giver);
  return Symbol.asyncIterator in steps ? asyncOutputs(steps, generation) : syncOutputs(steps, generation);
}

function isPieces(generated: ChatPart | Steps<ChatPart>): generated is Steps<ChatPart> {
  return Array.isArray(generated) || isSteps(generated);
}

function* syncOutputs(steps: Iterable<ChatPart>, generation: Generation): Generator<Outputs> {
  for (const part of steps) {
    const outputs = generation.take(part);
    if (outputs !== undefined) yield outputs;
    if (generation.isOver) break;
  }
  yield generation.end();
}

async function* asyncOutputs(steps: AsyncIterable<ChatPart>, generation: Generation): AsyncGenerator<Outputs> {
  for await (const part of steps) {
    const outputs = generation.take(part);
    if (outputs !== undefined) yield outputs;
    if (generation.isOver) break;
  }
  yield generation.end();
}

class Generation {
  readonly #giver: Giver;
  readonly #mostTexts: number;
  readonly #stop: StopText;
  readonly #toolCalls = new ToolCalls();
  #texts = 0;
  /** The first half of a character whose other half comes with the next text. */
  #half = '';
  #finishReason: FinishReason | undefined;
  #usage: TokenUsage = {};

  constructor({ maxTokens = Infinity, stop }: GenerationOptions, giver: Giver) {
    this.#giver = giver;
    this.#mostTexts = maxTokens;
    this.#stop = new StopText(stop);
  }

  /** Whether nothing more is wanted. */
  get isOver(): boolean {
    return this.#stop.isFound || this.#texts >= this.#mostTexts;
  }

  /** Takes a piece. Returns its outputs, or undefined while they are held back. Throws INTERNAL for anything else. */
  take(part: ChatPart): Outputs | undefined {
    if (typeof part === 'string') return this.#text(part);
    try {
      return this.#take(part);
    } catch (error) {
      disownPromises(part, 3);
      throw error;
    }
  }

  #take(part: Exclude<ChatPart, string>): Outputs | undefined {
    this.#check(part);
    const { text, toolCalls, finishReason, usage } = part;
    if (finishReason !== undefined) this.#finishReason = finishReason;
    if (usage !== undefined) this.#usage = { ...this.#usage, ...usage };
    const outputs = text === undefined ? undefined : this.#text(text);
    if (toolCalls === undefined || toolCalls.length === 0) return outputs;
    const deltas = toolCalls.map((call) => this.#toolCalls.take(call, this.#giver.what));
    return { ...outputs, tool_calls: [[JSON.stringify(deltas)]] };
  }

  /** The last outputs. */
  end(): Outputs {
    const rest = this.#stop.isFound ? '' : this.#stop.end() + this.#half;
    const { promptTokens = 0, completionTokens = this.#texts } = this.#usage;
    const usage = {
      prompt_tokens: promptTokens,
      completion_tokens: completionTokens,
      total_tokens: promptTokens + completionTokens,
    };
    return {
      ...(rest !== '' && { text: [[rest]] }),
      finish_reason: [[this.#stop.isFound ? 'stop' : (this.#finishReason ?? this.#defaultReason())]],
      usage: [[JSON.stringify(usage)]],
    };
  }

  #defaultReason(): FinishReason {
    if (this.#texts >= this.#mostTexts) return 'length';
    return this.#toolCalls.count > 0 ? 'tool_calls' : 'stop';
  }

  #text(text: string): Outputs | undefined {
    if (text === '') return undefined;
    this.#texts++;
    const pieces = this.#half + text;
    const end = pieces.length - (FIRST_HALF.test(pieces) ? 1 : 0);
    this.#half = pieces.slice(end);
    const given = this.#stop.push(pieces.slice(0, end));
    return given === '' ? undefined : { text: [[given]] };
  }

  #check(part: unknown): asserts part is Exclude<ChatPart, string> & { readonly toolCalls?: readonly ToolCallPart[] } {
    // A promise or an error has no members, and would count as a piece that says nothing.
    if (tagOf(part) !== 'Object') throw this.#wrong(`gave ${describeValue(part)}`);
    const members = this.#giver.usesTools ? CHAT_MEMBERS : MEMBERS;
    for (const [name, value] of Object.entries(part as object)) {
      if (!members.includes(name)) throw this.#wrong(`gave an object with '${name}', known are ${members.join(', ')}`);
      if (value === undefined) continue;
      const fits =
        name === 'text'
          ? typeof value === 'string'
          : name === 'finishReason'
            ? FINISH_REASONS.includes(value as FinishReason)
            : name === 'toolCalls'
              ? Array.isArray(value)
              : isUsage(value);
      if (!fits) throw this.#wrong(`gave a wrong ${name}`);
    }
  }

  #wrong(reason: string): TritonError {
    return new TritonError('INTERNAL', `${this.#giver.what} ${reason}, expected a text or an object with one`);
  }
}

function isUsage(value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return false;
  return Object.entries(value).every(
    ([name, count]) =>
      ['promptTokens', 'completionTokens'].includes(name) &&
      (count === undefined || (Number.isSafeInteger(count) && count >= 0)),
  );
}
