import { expect, it } from 'vitest';

import { messageText } from './chat-messages.js';

it('reads the text of a message in parts', () => {
  const content = [{ type: 'text', text: 'a' }, { type: 'image_url' }, { type: 'text', text: 'b' }];
  expect(messageText({ content })).toBe('ab');
});

it.each([
  [null, 'null'],
  [undefined, 'undefined'],
  [['a'], 'a list'],
])('refuses what is no message: %j', (given, got) => {
  expect(() => messageText(given as never)).toThrow(
    expect.objectContaining({ code: 'INVALID_ARG', message: `a message of a chat must be an object, got ${got}` }),
  );
});
