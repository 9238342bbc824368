// A token model twice: `Continuous` gives its rows back between its steps, and the batches of `Together` end together.
// Usage: iterative-server.js <true|false>, for `serverThread`.

import { batch } from 'tstriton';

import { MAX_ROWS, ROW_MS, STEP_MS, tokenOf } from '../iterative-workload.js';
import { sleep } from './blocking-sleep.js';
import { measuredServer, serveMeasured, serverThreadFlag } from './measured-server.js';

const INTEGER = { dtype: 'int32', shape: [1] } as const;
const spec = { inputs: { request: INTEGER, tokens: INTEGER }, outputs: { token: INTEGER } } as const;

class Text {
  made = 0;
}

/** One forward pass. */
const step = (rows: number): void => sleep(STEP_MS + ROW_MS * rows);

const triton = measuredServer(serverThreadFlag());
triton.bind({
  ...spec,
  modelName: 'Continuous',
  config: { maxBatchSize: MAX_ROWS, decoupled: true, sequenceBatching: { iterative: true, state: () => new Text() } },
  inferFunc: batch(({ request, tokens }, { sequences, reschedule }) => {
    step(sequences.length);
    const token = request.map((k, row) => {
      const text = sequences[row]!.state as Text;
      if (++text.made < tokens.data[row]!) reschedule(row);
      return tokenOf(k, text.made);
    });
    return { token };
  }),
});
triton.bind({
  ...spec,
  modelName: 'Together',
  config: { maxBatchSize: MAX_ROWS, decoupled: true },
  *inferFunc(requests) {
    const lengths = requests.map(({ inputs: { tokens } }) => tokens.data[0]!);
    for (let made = 1; made <= Math.max(...lengths); made++) {
      // The rows of texts that are complete cost nothing.
      step(lengths.filter((length) => made <= length).length);
      yield requests.map(({ inputs: { request } }, row) =>
        made <= lengths[row]! ? { token: [[tokenOf(request.data[0]!, made)]] } : undefined,
      );
    }
  },
});
await serveMeasured(triton);
