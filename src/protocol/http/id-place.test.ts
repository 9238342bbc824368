import { describe, expect, it } from 'vitest';

import { findId } from './id-place.js';

/** The id, or nothing. */
function idOf(text: string): string | undefined {
  const place = findId(text);
  return place && text.slice(place.start, place.end);
}

describe('the place of an id', () => {
  it.each([
    ['{"id":"7"}', '7'],
    ['{"id":""}', ''],
    ['{ "a" : [ { "id" : "no" } ] , "id" \t: \n"yes" }', 'yes'],
    ['{"id":"first","id":"second"}', 'first'],
    ['{"id":7}', undefined],
    ['{"a":"id"}', undefined],
    ['{"ids":"7"}', undefined],
    ['["id"]', undefined],
    ['{}', undefined],
    ['1.5', undefined],
  ])('in %s is that of its first member of that name, if it is a string', (text, id) => {
    expect(idOf(text)).toBe(id);
  });

  it('is not looked for where there is an escape', () => {
    expect(idOf('{"a":"\\"","id":"7"}')).toBeUndefined();
    expect(idOf('{"\\u0069d":"6","id":"7"}')).toBeUndefined();
  });

  it.each(['1\0"', '{"id":"7"}\0', '{}\0{"id":"7"}', '{}\0"id":"', '1.5\0"1.5,"i'])(
    'is not looked for in %j, whose NUL ends what was found to be well-formed',
    (text) => {
      expect(idOf(text)).toBeUndefined();
    },
  );

  it.each(['"', '{"', '{"id":"', '{"id":"7","'])('is sought to the end of %j and no further', (text) => {
    expect(() => findId(text)).not.toThrow();
  });
});
