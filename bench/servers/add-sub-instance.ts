// The add-sub model's instance in a thread of its own.

import { batch } from 'tstriton';

import { addSub } from '../add-sub-callable.js';

// oxlint-disable-next-line import/no-default-export -- what an instance group takes
export default batch(addSub);
