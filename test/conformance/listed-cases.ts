// The cases of rules that are about too many to be listed beside them. The folder `listed-cases` has a file for each family of
// recordings, with the names of the cases by the name of the rule.
import { readFileSync } from 'node:fs';

const FOLDER = new URL('listed-cases/', import.meta.url);

type Family = 'http' | 'grpc' | 'metrics' | 'bind' | 'outputs' | 'errors';

/** The names of the cases that a rule is about. Throws for a rule that the file does not have. */
export function listedCases(family: Family, rule: string): readonly string[] {
  const file = JSON.parse(readFileSync(new URL(`${family}.json`, FOLDER), 'utf8')) as Record<string, string[]>;
  const cases = file[rule];
  if (cases === undefined) throw new Error(`listed-cases/${family}.json has no rule '${rule}'`);
  return cases;
}
