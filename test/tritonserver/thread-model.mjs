// A callable in a thread of its own.
/** @param {readonly any[]} requests */
const addOne = (requests) =>
  requests.map(({ inputs: { x } }) => ({ y: x.map((/** @type {number} */ value) => value + 1) }));

// oxlint-disable-next-line import/no-default-export -- so a module exports its callable
export default addOne;
