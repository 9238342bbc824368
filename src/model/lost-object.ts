// Recognises a method that was called without its object, by what it threw: JavaScript's own error names a member of
// `undefined`, and says nothing of the object. A function that throws for another reason must not be suspected, so the
// error is held against the function's source.
// The error of a callable whose method was handed over so says how to bind it.

import { stackOf, TritonError } from '../errors.js';
import { functionOf } from './callable-function.js';
import type { Callable } from './callable.js';
import { DECORATORS, marksOf } from './decorated.js';

/** Whether the object is what the error is about: `possible` where the source leaves another explanation. */
export type Loss = 'certain' | 'possible';

/** What is known of `fn`, which was called with `this` undefined and threw. Undefined when that is not the reason. */
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

/** Without comments and texts. Undefined for functions whose `this` nobody can take away: arrow functions, bound ones. */
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

/** Of a TypeError. What was thrown may be anything, also something that throws when it is looked at. */
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

/** Whether it is `this` that the source asks for the member, and nothing else. */
function lossOfMember(member: string, source: string): Loss | undefined {
  const asked = Array.from(source.matchAll(/(?<=([\w$]+|[)\]])\s*)\.\s*(#?[\w$]+)/g)).filter(
    ([, , name]) => name === member,
  );
  const ofThis = asked.filter(([, object]) => object === 'this');
  if (ofThis.length > 0) return ofThis.length === asked.length ? 'certain' : 'possible';
  // By a computed name, or by the name of its class where the member is a private method.
  return /\bthis\s*\[|\bthis\s*\.\s*#/.test(source) ? 'possible' : undefined;
}

/** The innermost frame of the stack tells where it was thrown: in the function, in one within it, or elsewhere. */
function weighed(
  loss: Loss,
  stack: string | undefined,
  { name, source }: { readonly name: string; readonly source: string },
): Loss | undefined {
  const [, frame] = /\n\s+at ([^\n]*)/.exec(stack ?? '') ?? [];
  // Functions without a name have none in a frame either: those within the method are such.
  const [, path] = /^(?:async )?([^(]+) \(/.exec(frame ?? '') ?? [];
  const at = path
    ?.replace(/ \[as .*\]$/, '')
    .split('.')
    .at(-1);
  if (at === undefined || at === '<anonymous>' || at === name) return loss;
  const named = at.replace(/[^\w]/g, '\\$&');
  return new RegExp(`\\b(?:const|let|var|function\\*?)\\s+${named}\\b`).test(source) ? 'possible' : undefined;
}

/** The error, or one that says too that the method lost its object, and how to bind it. */
export function withLostObject(error: TritonError, callable: Callable): TritonError {
  if (typeof callable !== 'function') return error;
  const outermost = functionOf(callable);
  const mark = marksOf(outermost).at(-1);
  const fn = (mark?.inner ?? outermost) as { readonly name: string };
  const { cause } = error;
  // One that says something of its own was made by hand, or here.
  const loss = TritonError.from(cause).message === error.message ? lossOf(cause, fn) : undefined;
  if (loss === undefined) return error;
  // A decorator that stands on the method makes it one that takes requests.
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
