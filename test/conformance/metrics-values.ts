// What can be compared of metrics whose values no two servers share: times. Each is read: it must be 0 when nothing was
// timed, and a time when something was; together they must add up. Counts, and all that does not depend on time, stay as
// they are. The buckets of a histogram and the quantiles of a summary become one line each.

export interface FamilyText {
  readonly name: string;
  /** Help and type. */
  readonly head: readonly string[];
  readonly series: readonly string[];
}

interface Series {
  readonly name: string;
  /** Without `le` and `quantile`. */
  readonly labels: string;
  /** The value of `le` or `quantile`. */
  readonly at: string | undefined;
  readonly value: string;
}

/** By the kind of time: the series that tells how many were timed. */
const TIMED_BY: readonly (readonly [times: RegExp, count: string])[] = [
  [/^nv_inference_(request|queue)_duration_us$/, 'nv_inference_request_success'],
  [/^nv_inference_compute_\w+_duration_us$/, 'nv_inference_count'],
  [/^nv_cache_hit_duration_per_model$/, 'nv_cache_num_hits_per_model'],
  [/^nv_cache_miss_duration_per_model$/, 'nv_cache_num_misses_per_model'],
  [/^nv_cache_lookup_duration$/, 'nv_cache_num_lookups'],
  [/^nv_cache_insertion_duration$/, 'nv_cache_num_entries'],
];
/** The parts of the time that requests took. */
const PARTS = ['queue', 'compute_input', 'compute_infer', 'compute_output'].map(
  (part) => `nv_inference_${part}_duration_us`,
);
/** Rows are counted, not timed. */
const COUNTED_SUMS = ['tstriton_batch_rows_sum'];

export function familiesOf(text: string): readonly FamilyText[] {
  return text
    .split(/^(?=# HELP )/m)
    .filter((family) => family !== '')
    .map((family) => {
      const lines = family.trimEnd().split('\n');
      return { name: lines[0]!.split(' ')[2]!, head: lines.slice(0, 2), series: lines.slice(2) };
    });
}

export function textOf(families: readonly FamilyText[]): string {
  return families.map(({ head, series }) => `${[...head, ...series].join('\n')}\n`).join('');
}

/** A metrics text with what can be compared of it: families in their order, series in that of their names. */
export function comparableMetrics(text: string): string {
  const families = familiesOf(text).map((family) => ({ ...family, parsed: family.series.map(parseSeries) }));
  const values = new Map(
    families.flatMap(({ parsed }) =>
      parsed.map((series) => [keyOf(series.name, series.labels), series.value] as const),
    ),
  );
  return textOf(
    families.map(({ name, head, parsed }) => {
      const alone = parsed.filter(({ at }) => at === undefined).map((series) => aloneText(series, values));
      const spread = groupBy(parsed.filter(({ at }) => at !== undefined)).map((group) => spreadText(group, values));
      return { name, head, series: [...alone, ...spread].sort() };
    }),
  );
}

function parseSeries(line: string): Series {
  const [, name = '', all = '', value = ''] = /^([^{ ]+)(?:\{(.*)\})? (\S+)$/.exec(line) ?? [];
  const labels = all.split(',').filter((label) => label !== '' && !/^(le|quantile)=/.test(label));
  return { name, labels: labels.sort().join(), at: /(?:le|quantile)="([^"]*)"/.exec(all)?.[1], value };
}

function keyOf(name: string, labels: string): string {
  return `${name}{${labels}}`;
}

type Values = ReadonlyMap<string, string>;

function aloneText({ name, labels, value }: Series, values: Values): string {
  return `${keyOf(name, labels)} ${valueText(name, labels, value, values)}`;
}

function valueText(name: string, labels: string, value: string, values: Values): string {
  const number = Number(value);
  if (name === 'nv_cpu_utilization' || name === 'nv_cache_util') return number >= 0 && number <= 1 ? 'a share' : value;
  if (name.startsWith('nv_cpu_memory_')) return number > 0 ? 'bytes' : value;
  if (name === 'nv_model_load_duration_secs') return number > 0 ? 'a time' : value;
  // Connections end when they do, and the event loop is looked at every few milliseconds.
  if (name === 'tstriton_connections' || name === 'tstriton_event_loop_lag_seconds_count') {
    return Number.isInteger(number) && number >= 0 ? 'a number' : value;
  }
  if (name === 'tstriton_event_loop_lag_seconds_sum') return number >= 0 ? 'a time' : value;
  const counted = countedBy(name, labels, values);
  if (counted === undefined) return value;
  if (counted === 0) return value;
  if (name === 'nv_inference_request_duration_us' && number < partsOf(labels, values)) return `${value} < its parts`;
  return number >= 0 && (Number.isInteger(number) || !name.includes('_us')) ? 'a time' : value;
}

/** How many were timed for this series; undefined when it is no time. */
function countedBy(name: string, labels: string, values: Values): number | undefined {
  if (name.endsWith('_sum') && !COUNTED_SUMS.includes(name)) {
    return Number(values.get(keyOf(name.replace(/_sum$/, '_count'), labels)));
  }
  const count = TIMED_BY.find(([times]) => times.test(name))?.[1];
  return count === undefined ? undefined : Number(values.get(keyOf(count, labels)));
}

function partsOf(labels: string, values: Values): number {
  return PARTS.reduce((sum, part) => sum + Number(values.get(keyOf(part, labels))), 0);
}

function groupBy(series: readonly Series[]): readonly (readonly Series[])[] {
  const groups = new Map<string, Series[]>();
  for (const each of series) {
    const key = keyOf(each.name, each.labels);
    groups.set(key, [...(groups.get(key) ?? []), each]);
  }
  return [...groups.values()];
}

/** Buckets must grow up to the count; quantiles are numbers when there is anything, and grow too. */
function spreadText(group: readonly Series[], values: Values): string {
  const [{ name, labels }] = group as [Series];
  const base = name.replace(/_bucket$/, '');
  const count = Number(values.get(keyOf(`${base}_count`, labels)));
  const numbers = group.map(({ value }) => Number(value));
  const grows = numbers.every((number, index) => index === 0 || number >= numbers[index - 1]!);
  const at = group.map((series) => series.at).join(' ');
  const isBuckets = name.endsWith('_bucket');
  const isRight = isBuckets ? numbers.at(-1) === count || COUNTS_ON.test(base) : count > 0;
  const compared = isRight && grows && !COUNTED_SUMS.includes(`${base}_sum`);
  const text = compared ? (isBuckets ? 'up to the count' : 'times') : group.map(({ value }) => value.toLowerCase());
  return `${keyOf(name, labels)} at ${at}: ${Array.isArray(text) ? text.join(' ') : text}`;
}

/** Observed while it is read. */
const COUNTS_ON = /^tstriton_event_loop_lag_seconds$/;
