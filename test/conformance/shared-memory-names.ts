// The recorded requests name shared memory objects, of which a machine has one each: here every replay has objects of
// its own, with names of the same length, so that replays can run beside each other.
import { randomUUID } from 'node:crypto';

const RECORDED = /golden_(?:http|grpc)_(?:region|[ab])/g;

/** Gives cases, and the objects that they need, names that no other replay has. */
export class SharedMemoryNames {
  readonly #mark = randomUUID().replaceAll('-', '');

  /** `golden_http_a` becomes eight or more characters that are this replay's, and the letter or the end. */
  own(text: string): string {
    return text.replaceAll(RECORDED, (name) => this.#mark.slice(0, name.length - 1) + name.slice(-1));
  }

  /** The case with every name in it changed, also within what is base64. Its own name stays: rules list it. */
  in<Case>(testCase: Case): Case {
    const text = JSON.stringify(testCase, (key, value: unknown) =>
      key.endsWith('_base64') ? this.#inBase64(value) : value,
    );
    const { name } = testCase as { readonly name?: string };
    return { ...(JSON.parse(this.own(text)) as Case), ...(name === undefined ? {} : { name }) };
  }

  #inBase64(value: unknown): unknown {
    if (Array.isArray(value)) return value.map((part) => this.#inBase64(part));
    if (typeof value !== 'string') return value;
    const bytes = Buffer.from(value, 'base64').toString('latin1');
    const changed = this.own(bytes);
    return changed === bytes ? value : Buffer.from(changed, 'latin1').toString('base64');
  }
}
