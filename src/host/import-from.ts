// The one place where a module is imported whose name only the running program knows.

/** Bundlers must leave the import unchanged: its specifier is known only at run time. */
export function importFrom<T>(specifier: string): Promise<T> {
  return import(/* webpackIgnore: true */ /* turbopackIgnore: true */ /* @vite-ignore */ specifier) as Promise<T>;
}
