// What a failed callable's error says when the reason is that a method was handed over without its object.

import { TritonError } from '../errors.js';
import { functionOf } from '../model/callable-function.js';
import type { Callable } from '../model/callable.js';
import { DECORATORS, marksOf } from '../model/decorated.js';
import { lossOf, lossText } from '../model/lost-object.js';

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
