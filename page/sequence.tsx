// The place of a request in a sequence.

import type { Parameter } from './infer.js';

export interface SequenceState {
  /** A number, or a name. */
  readonly id: string;
  readonly start: boolean;
  readonly end: boolean;
}

export function sequenceParameters({ id, start, end }: SequenceState): Readonly<Record<string, Parameter>> {
  const number = /^[1-9]\d*$/.test(id) && Number.isSafeInteger(Number(id));
  return { sequence_id: number ? Number(id) : id, sequence_start: start, sequence_end: end };
}

/** After a request: a sequence goes on, or the next one begins. */
export function nextSequence({ id, end }: SequenceState): SequenceState {
  if (!end) return { id, start: false, end };
  return { id: /^\d+$/.test(id) ? String(Number(id) + 1) : id, start: true, end: false };
}

export function Sequence({
  state,
  onChange,
}: {
  readonly state: SequenceState;
  readonly onChange: (state: SequenceState) => void;
}) {
  return (
    <fieldset class="sequence">
      <legend>Sequence</legend>
      <label>
        id{' '}
        <input value={state.id} onInput={(event) => onChange({ ...state, id: event.currentTarget.value })} required />
      </label>
      {(['start', 'end'] as const).map((flag) => (
        <label key={flag}>
          <input
            type="checkbox"
            checked={state[flag]}
            onChange={(event) => onChange({ ...state, [flag]: event.currentTarget.checked })}
          />{' '}
          {flag}
        </label>
      ))}
    </fieldset>
  );
}
