// Answers that are wrong on purpose, made of right ones: what a comparison is worth shows when it is given them.

const CRASH = "Cannot read properties of undefined (reading 'data')";
/** Of an answer with more values than this, as many of them are changed, evenly chosen. */
const MOST_CHANGES = 60;

/** A server that fails: every number is 500, every text that of a crash. */
export function nonsense<Answer>(answer: Answer): Answer {
  return mapped(answer, (value) => {
    if (typeof value === 'number') return 500;
    if (typeof value === 'boolean') return !value;
    if (value instanceof Buffer) return Buffer.from(CRASH);
    if (typeof value === 'string') return CRASH;
    return Array.isArray(value) ? [CRASH] : value;
  }) as Answer;
}

/** The answer with one of its values changed a little, for each of its values. */
export function changedAnswers<Answer>(answer: Answer): readonly Answer[] {
  let count = 0;
  mapped(answer, (value) => (count++, value));
  const step = Math.max(1, count / MOST_CHANGES);
  const chosen = Array.from({ length: Math.min(count, MOST_CHANGES) }, (_, index) => Math.floor(index * step));
  return chosen.map((which) => {
    let index = 0;
    return mapped(answer, (value) => (index++ === which ? changed(value) : value)) as Answer;
  });
}

function changed(value: unknown): unknown {
  if (typeof value === 'number') return value + 1;
  if (typeof value === 'boolean') return !value;
  if (typeof value === 'string') return withOtherCharacter(value);
  if (value instanceof Buffer) return Buffer.from(withOtherCharacter(value.toString('latin1')), 'latin1');
  if (Array.isArray(value)) return ['something'];
  return typeof value === 'object' && value !== null ? { something: 1 } : 'something';
}

function withOtherCharacter(text: string): string {
  const middle = Math.floor(text.length / 2);
  return `${text.slice(0, middle)}${text[middle] === '~' ? '!' : '~'}${text.slice(middle + 1)}`;
}

/** A copy with every value replaced that is no list and no record, or an empty one. */
function mapped(value: unknown, replace: (value: unknown) => unknown): unknown {
  if (value === null || typeof value !== 'object' || value instanceof Buffer) return replace(value);
  if (Object.keys(value).length === 0) return replace(value);
  if (Array.isArray(value)) return value.map((item) => mapped(item, replace));
  return Object.fromEntries(Object.entries(value).map(([name, member]) => [name, mapped(member, replace)]));
}
