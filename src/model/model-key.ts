// What tells bound models apart: their name and version.

export function modelKey({ name, version }: { readonly name: string; readonly version: number }): string {
  return `${name}/${version}`;
}
