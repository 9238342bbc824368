// Recognises a method that was called without its object, and says in the error how to bind it. JavaScript's own error
// only names a member of `undefined`. A function that throws for another reason must not be suspected, so the error is
// compared with the function's source.

import { stackOf, TritonError } from '../errors.js';
import { functionOf } from './callable-function.js';
import type { Callable } from './callable.js';
import { DECORATORS, marksOf } from './decorated.js';

/** Whether the lost object causes the error: `possible` where the source leaves another explanation. */
export type Loss = 'certain' | 'possible';

/** Whether `fn`, called with `this` undefined, threw because it lost its object. Undefined for any other reason. */
export function lossOf(thrown: unknown, fn: unknown): Loss | undefined {
  const message = messageOf(thrown);
  const source = sourceOf(fn);
  if (message === undefined || source === undefined || !/\bthis\b/.test(source)) return undefined;
  const loss = lossBySource(message, source);
  return loss === undefined
    ? undefined
    : weighed(loss, stackOf(thrown), { name: (fn as { readonly name: string }).name, source });
}

/** `name` as messages say it: `method 'classify' lost its object`. */
export function lossText(loss: Loss, name: string): string {
  const what = name === '' ? 'the method' : `method '${name}'`;
  return `${what} ${loss === 'certain' ? 'lost' : 'may have lost'} its object: it was called with 'this' undefined`;
}

/** Read once per function: clients may make a callable fail as often as they like. */
const sources = new WeakMap<object, string | undefined>();

/** The source without comments and texts. Undefined for functions with a fixed `this`: arrow functions, bound ones. */
function sourceOf(fn: unknown): string | undefined {
  if (typeof fn !== 'function') return undefined;
  if (!sources.has(fn)) sources.set(fn, readSource(fn));
  return sources.get(fn);
}

function readSource(fn: object): string | undefined {
  const source = Function.prototype.toString.call(fn);
  if (/\{\s*\[native code\]\s*\}$/.test(source)) return undefined;
  if (/^(?:async\s+)?[\w$]+\s*=>|^(?:async\s*)?\([^()]*(?:\([^()]*\)[^()]*)*\)\s*=>/.test(source)) return undefined;
  return source.replace(/\/\*[\s\S]*?\*\/|\/\/[^\n]*|'(?:\\.|[^'\\\n])*'|"(?:\\.|[^"\\\n])*"/g, ' ');
}

/** The message of a TypeError. The thrown value may be anything, even an object that throws on access. */
function messageOf(thrown: unknown): string | undefined {
  try {
    return thrown instanceof TypeError ? String(thrown.message) : undefined;
  } catch {
    return undefined;
  }
}

function lossBySource(message: string, source: string): Loss | undefined {
  if (/^Cannot destructure property '.*' of 'this' as it is undefined/s.test(message)) return 'certain';
  if (message.startsWith('this is not iterable')) return 'certain';
  if (/private (?:member|method|field)|^(?:Receiver|Object) must be an instance of/.test(message)) {
    return /\bthis\s*\.\s*#|\(this,/.test(source) ? 'possible' : undefined;
  }
  const [, member] =
    /^Cannot (?:read|set) properties of undefined \((?:reading|setting) '(.*)'\)$/s.exec(message) ?? [];
  return member === undefined ? undefined : lossOfMember(member, source);
}

/** Whether the source reads the member from `this`, and from nothing else. */
function lossOfMember(member: string, source: string): Loss | undefined {
  const asked = Array.from(source.matchAll(/(?<=([\w$]+|[)\]])\s*)\.\s*(#?[\w$]+)/g)).filter(
    ([, , name]) => name === member,
  );
  const ofThis = asked.filter(([, object]) => object === 'this');
  if (ofThis.length > 0) return ofThis.length === asked.length ? 'certain' : 'possible';
  // By a computed name, or by the name of its class where the member is a private method.
  return /\bthis\s*\[|\bthis\s*\.\s*#/.test(source) ? 'possible' : undefined;
}

/** The innermost frame of the stack shows the place of the throw: the function, an inner function, or elsewhere. */
function weighed(
  loss: Loss,
  stack: string | undefined,
  { name, source }: { readonly name: string; readonly source: string },
): Loss | undefined {
  const [, frame] = /\n\s+at ([^\n]*)/.exec(stack ?? '') ?? [];
  // A function without a name, such as one within the method, has no name in a frame either.
  const [, path] = /^(?:async )?([^(]+) \(/.exec(frame ?? '') ?? [];
  const at = path
    ?.replace(/ \[as .*\]$/, '')
    .split('.')
    .at(-1);
  if (at === undefined || at === '<anonymous>' || at === name) return loss;
  const named = at.replace(/[^\w]/g, '\\$&');
  return new RegExp(`\\b(?:const|let|var|function\\*?)\\s+${named}\\b`).test(source) ? 'possible' : undefined;
}

/** The error, or a new one that adds that the method lost its object, and how to bind it. */
export function withLostObject(error: TritonError, callable: Callable): TritonError {
  if (typeof callable !== 'function') return error;
  const outermost = functionOf(callable);
  const mark = marksOf(outermost).at(-1);
  const fn = (mark?.inner ?? outermost) as { readonly name: string };
  const { cause } = error;
  // An error with a message of its own was made by hand, or here.
  const loss = TritonError.from(cause).message === error.message ? lossOf(cause, fn) : undefined;
  if (loss === undefined) return error;
  // A decorated method takes requests.
  const level = mark === undefined || mark.isMethod ? 'requests' : DECORATORS[mark.decorator].inside;
  const message = `${error.message}: ${lossText(loss, fn.name)}. ${waysToBind(fn.name, level)}`;
  return new TritonError(error.code, message, { cause });
}

function waysToBind(name: string, level: 'requests' | 'tensors' | 'values'): string {
  const member = /^[\w$]+$/.test(name) ? name : 'method';
  const parameter = level === 'requests' ? 'requests' : 'inputs';
  const closure = `(${parameter}, context) => object.${member}(${parameter}, context)`;
  return level === 'requests'
    ? `Bind ${closure}, or { object, method: '${member}' }`
    : `Decorate ${closure}, or the method itself, and bind { object, method: '${member}' }`;
}
