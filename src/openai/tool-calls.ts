// The calls of tools in one answer, in the form that a streamed answer has.

import { describeValue } from '../checks/check.js';
import { TritonError } from '../errors.js';
import { tagOf } from '../tensor/tag-of.js';
import { isFields } from './generation-request.js';

/**
 * A tool that the model asks for. Without `index` it is a whole call. With one it is a piece of the call of that number: the
 * first piece names the tool, and the arguments of all pieces are joined.
 */
export interface ToolCallPart {
  readonly index?: number;
  /** Default: a random one. */
  readonly id?: string;
  readonly name?: string;
  /** JSON, or an object that becomes JSON. A piece of a call has text. */
  readonly arguments?: string | Readonly<Record<string, unknown>>;
}

interface ToolCallDelta {
  readonly index: number;
  readonly id?: string;
  readonly type?: 'function';
  readonly function: { readonly name?: string; readonly arguments: string };
}

export class ToolCalls {
  #count = 0;

  /** How many calls have begun. */
  get count(): number {
    return this.#count;
  }

  /** Throws INTERNAL for a call without a name, and for a piece of a call that has not begun. `what`: who made the call. */
  take(part: ToolCallPart, what: string): ToolCallDelta {
    check(part, what);
    const { index = this.#count, name } = part;
    if (!Number.isInteger(index) || index < 0 || index > this.#count) {
      throw new TritonError(
        'INTERNAL',
        `${what} gave a tool call of index ${index}, expected one up to ${this.#count}`,
      );
    }
    if (index < this.#count) return { index, function: { arguments: argumentsOf(part, '') } };
    if (typeof name !== 'string' || name === '') {
      throw new TritonError('INTERNAL', `${what} gave a tool call without the name of the tool`);
    }
    this.#count++;
    const id = part.id ?? `call_${globalThis.crypto.randomUUID().replaceAll('-', '')}`;
    const isWhole = part.index === undefined;
    return { index, id, type: 'function', function: { name, arguments: argumentsOf(part, isWhole ? '{}' : '') } };
  }
}

/** Throws INTERNAL for anything but an object, and for arguments that are neither text nor an object. */
function check(part: unknown, what: string): void {
  if (!isFields(part)) throw new TritonError('INTERNAL', `${what} gave ${describeValue(part)} for a tool call`);
  const { arguments: given } = part;
  // JSON of a promise is that of an empty object.
  if (given === undefined || typeof given === 'string' || tagOf(given) === 'Object') return;
  throw new TritonError('INTERNAL', `${what} gave ${describeValue(given)} for the arguments of a tool call`);
}

function argumentsOf({ arguments: given }: ToolCallPart, none: string): string {
  return typeof given === 'string' ? given : given === undefined ? none : JSON.stringify(given);
}
