// One input of the form, in the way that was chosen for it.

import { useEffect, useState } from 'preact/hooks';

import type { DeclaredTensorJson } from '../src/frontend/page/page-json.js';
import { Camera } from './camera.js';
import { isFloat } from './elements.js';
import { RANGES, type PixelRange } from './image-tensor.js';
import { type InputState, MODE_NAMES, type Mode, modesOf } from './input-state.js';
import { Microphone } from './microphone.js';
import { size } from './texts.js';
import { TypeOf } from './type-of.js';

interface FieldProps {
  readonly spec: DeclaredTensorJson;
  readonly state: InputState;
  /** It cannot be sent as it is. */
  readonly isWrong?: boolean;
  readonly onChange: (changed: Partial<InputState>) => void;
}

export function InputField({ spec, state, isWrong, onChange }: FieldProps) {
  const modes = modesOf(spec);
  const id = `input-${spec.name}`;
  return (
    <div class={state.isSent ? 'field' : 'field off'} role="group" aria-label={`Input ${spec.name}`}>
      <div class="field-head">
        <label for={id}>
          <b>{spec.name}</b>
        </label>{' '}
        <TypeOf spec={spec} />
        {spec.description !== undefined && <span class="quiet says">{spec.description}</span>}
        {spec.optional && (
          <label class="inline">
            <input
              type="checkbox"
              checked={state.isSent}
              onChange={(event) => onChange({ isSent: event.currentTarget.checked })}
            />{' '}
            send
          </label>
        )}
        {modes.length > 1 && state.isSent && (
          <span class="modes" role="group" aria-label={`How ${spec.name} is given`}>
            {modes.map((mode) => (
              <button
                key={mode}
                type="button"
                aria-pressed={mode === state.mode}
                onClick={() =>
                  onChange({ mode, ...(takesFile(mode) !== takesFile(state.mode) && { file: undefined }) })
                }
              >
                {MODE_NAMES[mode]}
              </button>
            ))}
          </span>
        )}
      </div>
      {state.isSent && <Editor id={id} spec={spec} state={state} isWrong={isWrong === true} onChange={onChange} />}
    </div>
  );
}

function takesFile(mode: Mode): boolean {
  return mode === 'file' || mode === 'image' || mode === 'sound';
}

function Editor({ id, spec, state, isWrong, onChange }: FieldProps & { readonly id: string }) {
  const { mode, typed } = state;
  const onInput = (event: { readonly currentTarget: HTMLInputElement | HTMLTextAreaElement }) =>
    onChange({ typed: event.currentTarget.value });
  if (mode === 'random')
    return (
      <output id={id} class="quiet">
        new random values with each request
      </output>
    );
  if (takesFile(mode)) return <FileField id={id} spec={spec} state={state} onChange={onChange} />;
  const isSingle = mode === 'values' && spec.shape.every((length) => length === 1);
  if (isSingle && spec.datatype === 'BOOL') {
    return (
      <input
        id={id}
        type="checkbox"
        checked={typed === 'true'}
        onChange={(event) => onChange({ typed: String(event.currentTarget.checked) })}
      />
    );
  }
  if (isSingle && spec.datatype !== 'BYTES') {
    return (
      <input
        id={id}
        class="mono"
        aria-invalid={isWrong}
        inputMode={isFloat(spec.datatype) ? 'decimal' : 'numeric'}
        value={typed}
        onInput={onInput}
      />
    );
  }
  const rows = Math.min(12, Math.max(mode === 'text' ? 2 : 1, typed.split('\n').length));
  return (
    <textarea
      id={id}
      class={mode === 'values' ? 'mono' : ''}
      rows={rows}
      aria-invalid={isWrong}
      spellcheck={false}
      value={typed}
      onInput={onInput}
    />
  );
}

const ACCEPTED: Partial<Record<Mode, string>> = { image: 'image/*', sound: 'audio/*,video/*' };

function FileField({ id, spec, state, onChange }: FieldProps & { readonly id: string }) {
  const { mode, file, range, rate } = state;
  const onFile = (chosen: File) => onChange({ file: chosen });
  return (
    <div
      class="file"
      onDragOver={(event) => event.preventDefault()}
      onDrop={(event) => {
        event.preventDefault();
        const [dropped] = event.dataTransfer?.files ?? [];
        if (dropped !== undefined) onFile(dropped);
      }}
    >
      <div class="row">
        <input
          id={id}
          type="file"
          accept={ACCEPTED[mode]}
          onChange={(event) => {
            const [chosen] = event.currentTarget.files ?? [];
            if (chosen !== undefined) onFile(chosen);
          }}
        />
        {mode !== 'sound' && <Camera onFile={onFile} />}
        {mode !== 'image' && <Microphone onFile={onFile} />}
      </div>
      {mode === 'image' && isFloat(spec.datatype) && (
        <label class="inline">
          pixels as{' '}
          <select value={range} onChange={(event) => onChange({ range: event.currentTarget.value as PixelRange })}>
            {Object.entries(RANGES).map(([value, text]) => (
              <option key={value} value={value}>
                {text}
              </option>
            ))}
          </select>
        </label>
      )}
      {mode === 'sound' && (
        <label class="inline">
          samples a second{' '}
          <select value={rate} onChange={(event) => onChange({ rate: Number(event.currentTarget.value) })}>
            {[8000, 16_000, 22_050, 24_000, 44_100, 48_000].map((value) => (
              <option key={value}>{value}</option>
            ))}
          </select>
        </label>
      )}
      {file === undefined ? <p class="quiet hint">or drop a file here</p> : <Preview file={file} />}
    </div>
  );
}

/** Shows what the browser can show as an image or play, and nothing as a page. */
function Preview({ file }: { readonly file: File }) {
  const [url, setUrl] = useState<string>();
  useEffect(() => {
    const made = URL.createObjectURL(file);
    setUrl(made);
    return () => URL.revokeObjectURL(made);
  }, [file]);
  const [kind] = file.type.split('/');
  return (
    <div class="preview">
      {url !== undefined && kind === 'image' && <img src={url} alt={`The image that is sent: ${file.name}`} />}
      {url !== undefined && kind === 'audio' && <audio src={url} controls aria-label={file.name} />}
      {url !== undefined && kind === 'video' && <video src={url} controls aria-label={file.name} />}
      <span class="quiet">
        {file.name}, {size(file.size)}
      </span>
    </div>
  );
}
