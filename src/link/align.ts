/** The next multiple of 8: where a view as any typed array may begin. */
export function alignTo8(offset: number): number {
  return Math.ceil(offset / 8) * 8;
}
