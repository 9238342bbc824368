// The grpc-timeout header: up to eight digits and a unit. Spaces and more digits, which Triton takes too, are accepted.

const MILLISECONDS_OF_UNIT: Readonly<Record<string, number>> = {
  H: 3_600_000,
  M: 60_000,
  S: 1000,
  m: 1,
  u: 1e-3,
  n: 1e-6,
};

const FORM = /^([0-9]{1,20}) *([HMSmun]) *$/;
const MAX_DIGITS_VALUE = 99_999_999;

/** The timeout in milliseconds, fractions included; undefined when the text has another form. */
export function parseGrpcTimeout(text: string): number | undefined {
  const match = FORM.exec(text);
  if (match === null) return undefined;
  return Number(match[1]) * MILLISECONDS_OF_UNIT[match[2]!]!;
}

/** The header for a timeout in milliseconds. Timeouts with too many digits for the header are rounded up. */
export function formatGrpcTimeout(milliseconds: number): string {
  const positive = Math.max(milliseconds, 0);
  if (positive < 1000) return `${Math.ceil(positive * 1000)}u`;
  if (positive <= MAX_DIGITS_VALUE) return `${Math.ceil(positive)}m`;
  for (const unit of ['S', 'M', 'H'] as const) {
    const count = Math.ceil(positive / MILLISECONDS_OF_UNIT[unit]!);
    if (count <= MAX_DIGITS_VALUE) return `${count}${unit}`;
  }
  return `${MAX_DIGITS_VALUE}H`;
}
