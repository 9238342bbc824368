// Declarations and callables in one literal: what the declaration says holds in the callable, in whichever order they
// are written, and what it leaves out is what it is by default.
import {
  batch,
  fillOptionals,
  firstValue,
  groupByKeys,
  groupByValues,
  padBatch,
  sample,
  stream,
  Triton,
} from 'tstriton';

const triton = new Triton();
const inputs = { x: { dtype: 'float32', shape: [-1] } } as const;
const outputs = { y: { dtype: 'float32', shape: [-1] } } as const;

triton.bind({ modelName: 'A', inputs, outputs, inferFunc: batch(({ x }) => ({ y: x.map((value) => -value) })) });
triton.bind({ modelName: 'B', inferFunc: batch(({ x }) => ({ y: x.map((value) => -value) })), inputs, outputs });
triton.bind({
  modelName: 'C',
  inferFunc: batch(function* ({ x }) {
    yield { y: x.map((value) => -value) };
  }),
  inputs,
  outputs,
  config: { maxBatchSize: 8, decoupled: true },
});
triton.bind({
  modelName: 'D',
  config: { decoupled: true },
  inputs,
  outputs,
  inferFunc: groupByKeys(
    batch(
      padBatch(async function* ({ x }) {
        yield [x];
      }),
    ),
  ),
});
triton.bind({ modelName: 'E', inputs, outputs, config: { decoupled: true }, inferFunc: batch(({ x }) => ({ y: x })) });
triton.bind({
  modelName: 'F',
  inferFunc: fillOptionals(
    { q: 1 },
    batch(({ x, q }) => ({ y: x.map((value) => value * q.data[0]!) })),
  ),
  inputs: { ...inputs, q: { dtype: 'float32', shape: [1], optional: true } },
  outputs,
});

// A generator serves decoupled models only: also where nothing is said about it.

// @ts-expect-error No config.
triton.bind({ modelName: 'A', inputs, outputs, inferFunc: batch(function* ({ x }) { yield { y: x }; }) }); // prettier-ignore
// @ts-expect-error No config, the callable first.
triton.bind({ modelName: 'A', inferFunc: batch(function* ({ x }) { yield { y: x }; }), inputs, outputs }); // prettier-ignore
// @ts-expect-error A config that says nothing about it.
triton.bind({ modelName: 'A', inputs, outputs, inferFunc: batch(async function* ({ x }) { yield { y: x }; }), config: { maxBatchSize: 8 } }); // prettier-ignore
// @ts-expect-error A config that says no.
triton.bind({ modelName: 'A', inputs, outputs, inferFunc: batch(function* ({ x }) { yield { y: x }; }), config: { decoupled: false } }); // prettier-ignore
// @ts-expect-error Under several decorators.
triton.bind({ modelName: 'A', inputs, outputs, inferFunc: groupByKeys(batch(padBatch(function* ({ x }) { yield { y: x }; }))) }); // prettier-ignore
// @ts-expect-error Under sample.
triton.bind({ modelName: 'A', inputs, outputs, inferFunc: sample(function* ({ x }) { yield { y: x }; }) }); // prettier-ignore
// @ts-expect-error Under stream.
triton.bind({ modelName: 'A', inputs, outputs, inferFunc: stream(function* ({ x }) { yield { y: x }; }) }); // prettier-ignore
// @ts-expect-error Raw.
triton.bind({ modelName: 'A', inputs, outputs, inferFunc: function* (requests) { yield requests; } }); // prettier-ignore

// Defaults are for optional inputs of the model.

// prettier-ignore
// @ts-expect-error The model has no such input, and no optional one.
triton.bind({ modelName: 'A', inputs, outputs, inferFunc: fillOptionals({ q: 1 }, batch(({ x }) => [x])) });
// prettier-ignore
// @ts-expect-error The input is not optional.
triton.bind({ modelName: 'A', inputs, outputs, inferFunc: fillOptionals({ x: 1 }, batch(({ x }) => [x])) });
// prettier-ignore
// @ts-expect-error The callable first.
triton.bind({ modelName: 'A', inferFunc: fillOptionals({ q: 1 }, batch(({ x }) => [x])), inputs, outputs });

// Names are the model's.

// @ts-expect-error An unknown name to group by.
triton.bind({ modelName: 'A', inputs, outputs, inferFunc: batch(groupByValues(['q'], ({ x }) => ({ y: x }))) });
// @ts-expect-error An unknown name of a first value.
triton.bind({ modelName: 'A', inputs, outputs, inferFunc: batch(firstValue(['q'], ({ x }) => ({ y: x }))) });
// @ts-expect-error A misspelt output.
triton.bind({ modelName: 'A', inputs, outputs, inferFunc: batch(({ x }) => ({ yy: x })) });
