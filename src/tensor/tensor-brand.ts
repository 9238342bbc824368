// What a Tensor is known by. Shared through the global symbol registry, so that two copies of the package recognise each
// other's tensors.

export const BRAND: unique symbol = Symbol.for('tstriton.Tensor') as never;
