// The messages of a chat, in the form of the API.

import { expectObject } from '../checks/check.js';

/** A part of a message with several, such as a text beside an image. */
export interface ChatContentPart {
  readonly type: string;
  /** Of parts with `type: 'text'`. */
  readonly text?: string;
  /** Of parts with `type: 'image_url'`: an address, or the image itself as a `data:` URL. */
  readonly image_url?: { readonly url: string; readonly detail?: string };
  readonly [member: string]: unknown;
}

/** A call of a tool that the model asked for in an earlier message. */
export interface ChatToolCall {
  readonly id: string;
  readonly type: string;
  /** `arguments`: JSON, as the model wrote it. */
  readonly function: { readonly name: string; readonly arguments: string };
}

/** A tool that the model may ask for. */
export interface ChatTool {
  readonly type: string;
  /** `parameters`: a JSON Schema. */
  readonly function: {
    readonly name: string;
    readonly description?: string;
    readonly parameters?: Readonly<Record<string, unknown>>;
    readonly strict?: boolean | null;
  };
}

/** A message as the client sent it. */
export interface ChatMessage {
  /** `system`, `developer`, `user`, `assistant`, `tool`. */
  readonly role: string;
  readonly content?: string | readonly ChatContentPart[] | null;
  readonly name?: string;
  /** Of the model's own messages. */
  readonly tool_calls?: readonly ChatToolCall[];
  /** Of messages with the result of a tool. */
  readonly tool_call_id?: string;
  readonly [member: string]: unknown;
}

/** The text of a message, whether it came as a string or in parts; '' without any. */
export function messageText(message: Pick<ChatMessage, 'content'>): string {
  expectObject(message, 'a message of a chat');
  const { content } = message;
  if (typeof content === 'string') return content;
  return content?.map((part) => (part.type === 'text' ? (part.text ?? '') : '')).join('') ?? '';
}
