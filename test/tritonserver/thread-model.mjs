// A callable in a thread of its own: that of the model which its `args` name.
import { isMainThread } from 'node:worker_threads';

import { bindModels } from './models.mjs';

/** @type {any} */
let callable;

/** @param {{ args: { modelName: string, instance?: number } }} context */
export function setup({ args: { modelName, instance = 0 } }) {
  if (modelName === 'Threads') callable = addOne;
  const bind = (/** @type {any} */ bound) => {
    if (bound.modelName !== modelName || callable !== undefined) return;
    callable = Array.isArray(bound.inferFunc) ? bound.inferFunc[instance] : bound.inferFunc;
  };
  bindModels(/** @type {any} */ ({ bind }));
}

/** @param {readonly any[]} requests */
const addOne = (requests) =>
  requests.map(({ inputs: { x } }) => ({
    y: x.rows().map((/** @type {any} */ { data: [value] }) => [value + 1, isMainThread ? 0 : 1]),
  }));

/** @param {any[]} given */
const infer = (...given) => callable(...given);

// oxlint-disable-next-line import/no-default-export -- so a module exports its callable
export default infer;
