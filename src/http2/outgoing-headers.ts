// The fields of one HEADERS block: a template that many messages share, and fields of this message alone. The encoder indexes
// the template's fields, so that later blocks refer to each in a byte. It indexes nothing else: fields that differ from message
// to message would only fill the table.

/** Names and values in turn. */
export type FieldList = readonly string[];

export interface OutgoingHeaders {
  readonly template: HeaderTemplate;
  /** Sent after the template's fields; checked already. */
  readonly extra: FieldList | undefined;
}

/** Make one for each kind of message and keep it: connections remember by the object how they encoded it. */
export class HeaderTemplate implements OutgoingHeaders {
  readonly template = this;
  readonly extra = undefined;
  readonly fields: FieldList;
  /** What the names and values take together. */
  readonly bytes: number;

  /** Throws a TypeError for names and values that no message may have. */
  constructor(fields: FieldList) {
    checkFields(fields);
    this.fields = [...fields];
    this.bytes = fields.reduce((sum, text) => sum + text.length, 0);
  }

  /** The same with further fields, of one message. */
  with(extra: FieldList): OutgoingHeaders {
    checkFields(extra);
    return { template: this, extra };
  }
}

const NAME = /^:?[a-z0-9!#$%&'*+\-.^_`|~]+$/;
/** One character a byte, no NUL, no line break. */
const VALUE = /^[^\0\r\n\u0100-\uffff]*$/;
const SPACE_AT_AN_END = /^[\t ]|[\t ]$/;

function checkFields(fields: FieldList): void {
  if (fields.length % 2 !== 0) throw new TypeError('expected names and values in turn, got a name without a value');
  for (let i = 0; i < fields.length; i += 2) {
    const name = fields[i]!;
    const value = fields[i + 1]!;
    if (!NAME.test(name)) throw new TypeError(`expected a lower-case name of a field, got ${JSON.stringify(name)}`);
    if (!VALUE.test(value) || SPACE_AT_AN_END.test(value)) {
      throw new TypeError(
        `expected a value for ${name} of one byte a character, without line breaks and spaces around it, got ${JSON.stringify(value)}`,
      );
    }
  }
}
