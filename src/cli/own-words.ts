// The words of a command for what the client's errors name: the client has options and methods, a command has flags.

import { TritonError } from '../errors.js';

/** What the client says, and what the command says instead. */
export type OwnWords = readonly (readonly [RegExp, string])[];

export function inOwnWords(message: string, words: OwnWords): string {
  return words.reduce((said, [clients, own]) => said.replace(clients, own), message);
}

/** The error, or a new one where the command has words of its own. */
export function errorInOwnWords(error: unknown, words: OwnWords): unknown {
  const { code, message } = TritonError.from(error);
  const said = inOwnWords(message, words);
  return said === message ? error : new TritonError(code, said, { cause: error });
}
