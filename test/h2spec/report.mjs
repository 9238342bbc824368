// @ts-check
// What h2spec reports, and what it is expected to.

/** @typedef {'passes' | 'fails' | 'skipped'} Verdict */

/**
 * The verdicts of a report in JUnit's form, by the number of the case: `http2/5.1/8`. The report holds bytes of frames as
 * they are, and is no XML then.
 *
 * @param {string} report
 * @returns {Map<string, Verdict>}
 */
export function verdictsOf(report) {
  /** @type {Map<string, Verdict>} */
  const verdicts = new Map();
  /** @type {Map<string, number>} */
  const counts = new Map();
  for (const [, section = '', inner = ''] of report.matchAll(/<testcase package="([^"]*)"[^>]*>(.*?)<\/testcase>/gs)) {
    const number = (counts.get(section) ?? 0) + 1;
    counts.set(section, number);
    const failed = /<(error|failure)\b/.test(inner);
    verdicts.set(`${section}/${number}`, failed ? 'fails' : /<skipped\b/.test(inner) ? 'skipped' : 'passes');
  }
  return verdicts;
}

/**
 * What is expected of the cases that do not just pass; `varies` may pass or fail.
 *
 * @param {string} list
 * @returns {Map<string, 'fails' | 'skipped' | 'varies'>}
 */
export function expectedOf(list) {
  const lines = list.split('\n').filter((line) => line.trim() !== '' && !line.startsWith('#'));
  return new Map(
    lines.map((line) => {
      const [verdict = '', number = ''] = line.trim().split(/\s+/);
      if (verdict !== 'fails' && verdict !== 'skipped' && verdict !== 'varies')
        throw new Error(`not understood: ${line}`);
      return [number, verdict];
    }),
  );
}

/**
 * How the verdicts differ from what is expected, a line each.
 *
 * @param {ReadonlyMap<string, Verdict>} verdicts
 * @param {ReadonlyMap<string, 'fails' | 'skipped' | 'varies'>} expected
 * @returns {string[]}
 */
export function surprises(verdicts, expected) {
  const numbers = new Set([...verdicts.keys(), ...expected.keys()]);
  return [...numbers].flatMap((number) => {
    const got = verdicts.get(number) ?? 'is not there';
    const wanted = expected.get(number) ?? 'passes';
    const right = got === wanted || (wanted === 'varies' && (got === 'passes' || got === 'fails'));
    return right ? [] : [`${number} ${got}, expected: ${wanted}`];
  });
}
