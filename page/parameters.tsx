// Parameters of a request: names and values that the callable or the scheduler reads.

import type { Parameter } from './infer.js';

export interface ParameterRow {
  readonly name: string;
  /** As it was typed. */
  readonly value: string;
}

/** Numbers and truth values count as such; anything else, and what stands in quotes, is text. */
export function parameterOf(typed: string): Parameter {
  try {
    const value: unknown = JSON.parse(typed);
    if (typeof value === 'number' || typeof value === 'boolean' || typeof value === 'string') return value;
  } catch {
    // Text without quotes.
  }
  return typed;
}

interface ParametersProps {
  readonly rows: readonly ParameterRow[];
  readonly onChange: (rows: readonly ParameterRow[]) => void;
}

export function Parameters({ rows, onChange }: ParametersProps) {
  const set = (index: number, changed: Partial<ParameterRow>) =>
    onChange(rows.map((row, at) => (at === index ? { ...row, ...changed } : row)));
  return (
    <fieldset class="parameters">
      <legend>Parameters</legend>
      {rows.map(({ name, value }, index) => (
        <div class="row" key={index}>
          <input
            aria-label={`Name of parameter ${index + 1}`}
            placeholder="priority"
            value={name}
            onInput={(event) => set(index, { name: event.currentTarget.value })}
          />
          <input
            aria-label={`Value of parameter ${index + 1}`}
            placeholder="1"
            value={value}
            onInput={(event) => set(index, { value: event.currentTarget.value })}
          />
          <button
            type="button"
            class="small"
            aria-label={`Remove parameter ${name || index + 1}`}
            onClick={() => onChange(rows.filter((_, at) => at !== index))}
          >
            ×
          </button>
        </div>
      ))}
      <button type="button" class="small" onClick={() => onChange([...rows, { name: '', value: '' }])}>
        Add a parameter
      </button>
    </fieldset>
  );
}
