// `Float16Array`, which Node has from 24 on and the compiler's library here has not: tests with it run where it is.
interface Float16ArrayConstructor {
  new (values: readonly number[]): ArrayLike<number> & ArrayBufferView;
  new (buffer: ArrayBufferLike, byteOffset: number, length: number): ArrayLike<number> & ArrayBufferView;
}

/** Undefined where Node has none. */
export const { Float16Array } = globalThis as { readonly Float16Array?: Float16ArrayConstructor };
