// Plain data as YAML, in block style. Texts are quoted wherever YAML could read them as something else.

export type Yaml = string | number | boolean | readonly Yaml[] | { readonly [key: string]: Yaml | undefined };

/** Members without a value are left out. */
export function toYaml(value: Yaml): string {
  return `${lines(value).join('\n')}\n`;
}

function lines(value: Yaml): readonly string[] {
  if (isList(value)) {
    if (value.length === 0) return ['[]'];
    return value.flatMap((item) => nested('- ', item));
  }
  if (typeof value === 'object') {
    const members = Object.entries(value).filter((member): member is [string, Yaml] => member[1] !== undefined);
    if (members.length === 0) return ['{}'];
    return members.flatMap(([key, member]) => entry(scalar(key), member));
  }
  return [typeof value === 'string' ? scalar(value) : String(value)];
}

function entry(key: string, value: Yaml): readonly string[] {
  const inner = lines(value);
  const isBlock = typeof value === 'object' && inner[0] !== '[]' && inner[0] !== '{}';
  if (!isBlock) return [`${key}: ${inner[0]}`];
  return [`${key}:`, ...inner.map((line) => `  ${line}`)];
}

function nested(mark: string, value: Yaml): readonly string[] {
  return lines(value).map((line, index) => (index === 0 ? mark : ' '.repeat(mark.length)) + line);
}

function isList(value: Yaml): value is readonly Yaml[] {
  return Array.isArray(value);
}

/** Letters first, nothing that YAML has a meaning for, and no word that an older YAML takes for a boolean or null. */
const PLAIN = /^[A-Za-z/][\w./-]*$/;
const WORDS = /^(y|n|yes|no|on|off|true|false|null|nan|inf)$/i;

function scalar(text: string): string {
  return PLAIN.test(text) && !WORDS.test(text) ? text : JSON.stringify(text);
}
