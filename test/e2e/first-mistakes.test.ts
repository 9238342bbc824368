// What JavaScript lets people write, and the compiler does not: each is refused at once, in one line.
import { describe, expect, it } from 'vitest';

import { batch, firstValue, groupByValues, RemoteTriton, Triton } from 'tstriton';
import { ModelClient } from 'tstriton/client';
import { call } from 'tstriton/testing';

/** Takes the types off, as JavaScript does. */
const untyped = (value: unknown) => value as never;

describe('a first mistake is refused in one line', () => {
  it.each<[string, () => unknown, string]>([
    ['bind without a model', () => new Triton().bind(untyped(undefined)), 'a model must be an object, got undefined'],
    [
      'bind with the name apart',
      () =>
        new Triton().bind(
          untyped('M'),
          untyped(() => []),
        ),
      'a model must be an object, got string',
    ],
    ['bind with nothing in it', () => new Triton().bind(untyped({})), 'modelName must be a string, got undefined'],
    [
      'a client without a model',
      () => new ModelClient('localhost', untyped(undefined)),
      'modelName must be a string, got undefined',
    ],
    ['a call without a model', () => call(untyped(undefined), untyped({})), 'a model must be an object, got undefined'],
    [
      'RemoteTriton without options',
      () => new RemoteTriton('grpc://localhost', untyped(undefined)),
      'options of RemoteTriton must be an object, got undefined',
    ],
    [
      'groupByValues with a name alone',
      () =>
        batch(
          untyped(
            groupByValues(
              untyped('language'),
              untyped(() => ({})),
            ),
          ),
        ),
      `groupByValues takes a list of input names, such as ['temperature'], got "language"`,
    ],
    [
      'firstValue without names',
      () => batch(untyped(firstValue(untyped(() => ({}))))),
      "firstValue takes a list of input names, such as ['temperature'], got function",
    ],
  ])('%s', (_, mistake, message) => {
    expect(mistake).toThrow(expect.objectContaining({ code: 'INVALID_ARG', message }));
  });
});
