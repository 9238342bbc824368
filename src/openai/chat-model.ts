// `chatModel` makes a model from a function of messages. The OpenAI API serves it at /v1/chat/completions.

import { stream } from '../callables/stream.js';
import { invalidArg } from '../errors.js';
import type { InferenceContext, InferFunc, ModelSpec } from '../model/callable.js';
import { CHAT_INPUTS, CHAT_OUTPUTS } from '../model/openai.js';
import type { ChatMessage, ChatTool } from './chat-messages.js';
import { type ChatPart, generate, type Generated } from './generation.js';
import { boundOptions, type GenerationConfig, type OpenAiModelOptions } from './generation-model.js';
import { type GenerationOptions, generationOptions, isFields, objects, parseTensorJson } from './generation-request.js';

type ChatInputs = typeof CHAT_INPUTS;
type ChatOutputs = typeof CHAT_OUTPUTS;

/** A request to a chat model. */
export interface ChatRequest extends GenerationOptions {
  /** At least one, in the order of the chat. */
  readonly messages: readonly ChatMessage[];
  /** The tools that the model may ask for. */
  readonly tools: readonly ChatTool[];
  /** `auto`, `none`, `required`, or an object that names a tool. */
  readonly toolChoice: unknown;
  /** The form that the answer should have, such as `{ type: 'json_object' }`. */
  readonly responseFormat: unknown;
}

/** Answers a chat: a generator of tokens, or a function of the whole answer. */
export type ChatFunc = (request: ChatRequest, context: InferenceContext<ChatInputs>) => Generated<ChatPart>;

export interface ChatModelOptions extends OpenAiModelOptions<GenerationConfig> {
  readonly chat: ChatFunc;
}

/** What `bind` takes. */
export interface ChatModel
  extends ModelSpec<ChatInputs, ChatOutputs, true>, Pick<ChatModelOptions, 'setup' | 'teardown'> {
  readonly inferFunc: InferFunc<ChatInputs, ChatOutputs, true>;
}

/**
 * Makes a model from a function that answers chats. The server serves it at `/v1/chat/completions`, as one answer or as a
 * stream, and over Triton's protocols with the tensors `messages` and `options`. The answer ends after `maxTokens` texts, and
 * before a text of `stop`, whether or not the function looks at them. Throws INVALID_ARG for wrong options.
 *
 * @example
 * triton.bind(
 *   chatModel({
 *     modelName: 'Writer',
 *     async *chat({ messages, signal }) {
 *       for await (const token of write(messageText(messages.at(-1)!), signal)) yield token;
 *     },
 *   }),
 * );
 */
export function chatModel(options: ChatModelOptions): ChatModel {
  const bound = boundOptions(options, { helper: 'chatModel', own: ['chat'] });
  const giver = { what: `chat of model '${options.modelName}'`, usesTools: true };
  return {
    ...bound,
    openai: 'chat',
    inputs: CHAT_INPUTS,
    outputs: CHAT_OUTPUTS,
    config: { ...options.config, decoupled: true, maxBatchSize: 1 },
    inferFunc: stream<ChatInputs, ChatOutputs>((inputs, context) => {
      const request = chatRequest(inputs.messages.strings()[0]!, inputs.options?.strings()[0], context.signal);
      // Which outputs a step has is known when it comes.
      return generate(options.chat(request, context), request, giver) as never;
    }),
  };
}

function chatRequest(messages: string, json: string | undefined, signal: AbortSignal): ChatRequest {
  const request = generationOptions(json, signal);
  const { options } = request;
  return {
    ...request,
    messages: chatMessages(parseTensorJson('messages', messages)),
    tools: (objects(options, 'tools') ?? []) as unknown as readonly ChatTool[],
    toolChoice: options['tool_choice'] ?? undefined,
    responseFormat: options['response_format'] ?? undefined,
  };
}

function chatMessages(given: unknown): readonly ChatMessage[] {
  const list = objects({ messages: given }, 'messages') ?? [];
  if (list.length === 0) throw invalidArg("'messages' must have at least one message, got none");
  list.forEach(({ role, content }, index) => {
    const where = `'messages[${index}]`;
    if (typeof role !== 'string') throw invalidArg(`${where}.role' must be a string, got ${typeof role}`);
    const isKnown =
      typeof content === 'string' ||
      (content ?? undefined) === undefined ||
      (Array.isArray(content) && content.every((part) => isFields(part) && typeof part['type'] === 'string'));
    if (!isKnown) throw invalidArg(`${where}.content' must be a string or a list of parts with a type`);
  });
  return list as unknown as readonly ChatMessage[];
}
