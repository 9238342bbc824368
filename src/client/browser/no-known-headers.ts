// Browsers parse the JSON of each answer: to know it again would cost more code than it saves there.

import type { KnownHeaders as NodeKnownHeaders } from '../../protocol/http/known-headers.js';

export class KnownHeaders implements Pick<NodeKnownHeaders, 'find' | 'copy' | 'add'> {
  find(): undefined {}
  copy(): undefined {}
  add(): void {}
}
