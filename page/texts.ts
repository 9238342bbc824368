// How figures are written.

/** With three digits at most, and k or M for thousands and millions. */
export function rate(value: number): string {
  if (value >= 999_500) return `${short(value / 1_000_000)}M`;
  if (value >= 999.5) return `${short(value / 1000)}k`;
  return short(value);
}

function short(value: number): string {
  if (value === 0) return '0';
  if (value >= 99.95) return value.toFixed(0);
  if (value >= 9.995) return value.toFixed(1).replace(/\.0$/, '');
  return value.toFixed(2).replace(/\.?0+$/, '');
}

/** Of milliseconds. */
export function duration(ms: number | null): string {
  if (ms === null) return '–';
  if (ms === 0) return '0';
  if (ms >= 1000) return `${short(ms / 1000)} s`;
  if (ms < 1) return `${Math.round(ms * 1000)} µs`;
  return `${short(ms)} ms`;
}

export function percent(share: number | null): string {
  return share === null ? '–' : `${short(share * 100)} %`;
}

/** Of probabilities, which stand below each other: with one digit behind the point. */
export function percentage(share: number): string {
  return share > 0 && share < 0.0005 ? '< 0.1 %' : `${(share * 100).toFixed(1)} %`;
}

export function size(bytes: number): string {
  if (bytes < 1000) return `${bytes} B`;
  if (bytes < 1_000_000) return `${short(bytes / 1000)} kB`;
  return `${short(bytes / 1_000_000)} MB`;
}
