// The form that asks a model, and its answer.

import { useEffect, useRef, useState } from 'preact/hooks';

import type { DeclaredJson } from '../src/frontend/page/page-json.js';
import { AnswerView, type Shown } from './answer-view.js';
import type { SentImage } from './boxes-view.js';
import { Code } from './code.js';
import { encodeElements } from './elements.js';
import { InputField } from './input-field.js';
import { pixelSize } from './image-tensor.js';
import type { Parameter } from './infer.js';
import { initialState, type InputState, jsonOf, modesOf, prepare, type Prepared } from './input-state.js';
import { parameterOf, Parameters, type ParameterRow } from './parameters.js';
import { nextSequence, Sequence, sequenceParameters, type SequenceState } from './sequence.js';
import { generate, infer, ORIGIN, Refused, tokenHeader, TokenWanted } from './server.js';
import { snippets } from './snippets.js';
import { StreamText } from './stream-text.js';
import { duration } from './texts.js';

interface TryProps {
  readonly model: string;
  readonly version: string;
  readonly isLatest: boolean;
  readonly declared: DeclaredJson;
  readonly grpcPort: number | undefined;
  readonly want: (header: string) => void;
}

interface Form {
  inputs: Record<string, InputState>;
  parameters: readonly ParameterRow[];
  sequence: SequenceState;
  shown: Shown | undefined;
}

/** Forms of models that were looked at, so that a look at another one loses nothing. */
const forms = new Map<string, Form>();

export function Try({ model, version, isLatest, declared, grpcPort, want }: TryProps) {
  const key = `${model}/${version}`;
  const form = formOf(key, declared);
  const [, setRenders] = useState(0);
  const [running, setRunning] = useState<AbortController>();
  const [showsCode, setShowsCode] = useState(false);
  const [code, setCode] = useState<ReturnType<typeof snippets> | string>();
  const [wrong, setWrong] = useState<string>();
  const current = useRef<AbortController>(undefined);
  // Nobody could stop a stream of a model that is not looked at any more.
  useEffect(() => () => current.current?.abort(), []);
  const change = (changed: Partial<Form>) => {
    Object.assign(form, changed);
    setRenders((renders) => renders + 1);
  };

  const parameters = (): Readonly<Record<string, Parameter>> => ({
    ...(declared.sequences && sequenceParameters(form.sequence)),
    ...Object.fromEntries(
      form.parameters.filter(({ name }) => name !== '').map(({ name, value }) => [name, parameterOf(value)]),
    ),
  });

  /** Rejects with an {@link InputError} for an input that cannot be sent. */
  const prepared = async (): Promise<readonly Prepared[]> => {
    const sent = declared.inputs.filter(({ name }) => form.inputs[name]!.isSent);
    return Promise.all(
      sent.map((spec) =>
        prepare(spec, form.inputs[spec.name]!).catch((error: Error) => {
          throw new InputError(spec.name, error.message);
        }),
      ),
    );
  };

  const makeCode = async () => {
    try {
      const inputs = (await prepared()).map(({ snippet }) => snippet);
      const grpc = grpcPort === undefined ? undefined : `${new URL(ORIGIN).hostname}:${grpcPort}`;
      return snippets({
        origin: ORIGIN,
        grpc,
        model,
        version: isLatest ? undefined : version,
        declared,
        inputs,
        parameters: parameters(),
        tokenHeader: tokenHeader(),
      });
    } catch (error) {
      return (error as Error).message;
    }
  };

  // The code follows the form.
  useEffect(() => {
    if (!showsCode) return;
    let isWanted = true;
    void makeCode().then((made) => isWanted && setCode(made));
    return () => void (isWanted = false);
  }, [showsCode, form.inputs, form.parameters, form.sequence, isLatest, grpcPort]);

  const run = async () => {
    if (running !== undefined) return;
    const controller = new AbortController();
    current.current = controller;
    setRunning(controller);
    setWrong(undefined);
    const began = performance.now();
    const stream = new StreamText();
    try {
      const inputs = await prepared();
      const request = { model, version, parameters: parameters(), signal: controller.signal };
      if (declared.decoupled) {
        const texts = inputs.map(({ elements, snippet: { spec } }) => [spec.name, jsonOf(spec, elements)] as const);
        let frame: number | undefined;
        const draw = () => {
          frame = undefined;
          const ms = performance.now() - began;
          change({ shown: { kind: 'stream', stream, ms, outputs: declared.outputs, state: 'running' } });
        };
        draw();
        try {
          for await (const event of generate(request, texts)) {
            stream.add(event);
            frame ??= requestAnimationFrame(draw);
          }
        } catch (error) {
          if (controller.signal.aborted || stream.count === 0) throw error;
          // The connection broke. What came before stays to be read.
          stream.add({ error: `the stream broke off: ${(error as Error).message}` });
        } finally {
          if (frame !== undefined) cancelAnimationFrame(frame);
        }
        const ms = performance.now() - began;
        change({ shown: { kind: 'stream', stream, ms, outputs: declared.outputs, state: 'ended' } });
      } else {
        const batch = declared.maxBatchSize > 0 ? [1] : [];
        const tensors = inputs.map(({ elements, snippet: { spec } }) => ({
          name: spec.name,
          datatype: spec.datatype,
          shape: [...batch, ...elements.shape],
          bytes: encodeElements(elements, spec.datatype),
        }));
        const answer = await infer(request, tensors);
        change({
          shown: {
            kind: 'answer',
            answer,
            ms: performance.now() - began,
            declared,
            image: sentImage(inputs, form.inputs),
          },
        });
      }
      change({ sequence: nextSequence(form.sequence) });
    } catch (error) {
      const ms = performance.now() - began;
      if (controller.signal.aborted && declared.decoupled) {
        change({ shown: { kind: 'stream', stream, ms, outputs: declared.outputs, state: 'stopped' } });
      } else if (controller.signal.aborted) {
        change({ shown: { kind: 'error', message: 'stopped' } });
      } else {
        if (error instanceof TokenWanted) want(error.header);
        if (error instanceof InputError) setWrong(error.input);
        const status = error instanceof Refused ? { status: `status ${error.status}, ${duration(ms)}` } : {};
        change({ shown: { kind: 'error', message: (error as Error).message, ...status } });
      }
    } finally {
      setRunning(undefined);
    }
  };

  return (
    <div class="try">
      <form
        aria-label={`Try ${model}`}
        onSubmit={(event) => {
          event.preventDefault();
          void run();
        }}
        onKeyDown={(event) => {
          if (event.key === 'Enter' && (event.ctrlKey || event.metaKey)) {
            event.preventDefault();
            void run();
          }
        }}
      >
        <h2>Request</h2>
        {declared.inputs.map((spec) => (
          <InputField
            key={spec.name}
            spec={spec}
            state={form.inputs[spec.name]!}
            isWrong={wrong === spec.name}
            onChange={(state) => {
              if (wrong === spec.name) setWrong(undefined);
              change({ inputs: { ...form.inputs, [spec.name]: { ...form.inputs[spec.name]!, ...state } } });
            }}
          />
        ))}
        {declared.sequences && <Sequence state={form.sequence} onChange={(sequence) => change({ sequence })} />}
        <Parameters rows={form.parameters} onChange={(rows) => change({ parameters: rows })} />
        <div class="actions">
          {/* One button, so that it keeps the focus. */}
          <button
            type="submit"
            class={running === undefined ? 'primary' : 'primary stop'}
            onClick={(event) => {
              if (running === undefined) return;
              event.preventDefault();
              running.abort();
            }}
          >
            {running !== undefined ? 'Stop' : declared.decoupled ? 'Stream' : 'Infer'}
          </button>
          <button type="button" onClick={() => setShowsCode(!showsCode)} aria-expanded={showsCode}>
            As code
          </button>
          <span class="quiet hint">
            <kbd>Ctrl</kbd> <kbd>Enter</kbd>
          </span>
        </div>
        {showsCode && code !== undefined && <Code samples={code} onClose={() => setShowsCode(false)} />}
      </form>
      <section class="answer" aria-label="Answer">
        <h2>Answer</h2>
        <AnswerView shown={form.shown} isRunning={running !== undefined} />
      </section>
    </div>
  );
}

/** An input of the form that cannot be sent. */
class InputError extends Error {
  readonly input: string;

  constructor(input: string, message: string) {
    super(message.startsWith(`${input}:`) ? message : `${input}: ${message}`);
    this.input = input;
  }
}

/** The first image of a request. */
function sentImage(inputs: readonly Prepared[], states: Readonly<Record<string, InputState>>): SentImage | undefined {
  for (const { elements, snippet } of inputs) {
    const { spec } = snippet;
    const { mode, file } = states[spec.name]!;
    if (file === undefined) continue;
    if (mode === 'image') return { file, scaledTo: pixelSize(elements.shape) };
    if (mode === 'file' && file.type.startsWith('image/')) return { file, scaledTo: undefined };
  }
  return undefined;
}

function formOf(key: string, declared: DeclaredJson): Form {
  let form = forms.get(key);
  if (form === undefined)
    forms.set(
      key,
      (form = { inputs: {}, parameters: [], sequence: { id: '1', start: true, end: false }, shown: undefined }),
    );
  // A model that was loaded anew may have other inputs.
  for (const spec of declared.inputs) {
    const state = form.inputs[spec.name];
    const fits = state !== undefined && modesOf(spec).includes(state.mode) && (state.isSent || spec.optional);
    if (!fits) form.inputs[spec.name] = initialState(spec, declared);
  }
  return form;
}
