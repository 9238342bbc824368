import { expect, it } from 'vitest';

import { countElements } from './count-elements.js';
import { parseJson } from './json-parser.js';
import type { JsonArray } from './json-value.js';

it.each([
  ['[]', 0],
  [' [ \n ] ', 0],
  ['[1]', 1],
  ['[ 1 , 2,3 ]', 3],
  ['[[]]', 1],
  ['[[1,2],[3,[4,5]]]', 2],
  ['["a,b","]","\\",\\"",""]', 4],
  ['[{"a":1,"b":[1,2]},{}]', 2],
  ['[0,{"a":1,"b":[1,2]},{}]', 3],
  ['[true,null,NaN]', 3],
])('counts the elements of %s', (text, count) => {
  expect(countElements(parseJson(Buffer.from(text)) as JsonArray)).toBe(count);
});
