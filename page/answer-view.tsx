// An answer, a stream as it comes, or an error.

import type { DeclaredJson, DeclaredTensorJson } from '../src/frontend/page/page-json.js';
import type { SentImage } from './boxes-view.js';
import type { Answer } from './infer.js';
import { OutputView } from './output-view.js';
import type { StreamText } from './stream-text.js';
import { duration } from './texts.js';

export type Shown =
  | {
      readonly kind: 'answer';
      readonly answer: Answer;
      readonly ms: number;
      readonly declared: DeclaredJson;
      readonly image: SentImage | undefined;
    }
  | {
      readonly kind: 'stream';
      readonly stream: StreamText;
      readonly ms: number;
      readonly outputs: readonly DeclaredTensorJson[];
      readonly state: 'running' | 'ended' | 'stopped';
    }
  | { readonly kind: 'error'; readonly message: string; readonly status?: string };

export function AnswerView({ shown, isRunning }: { readonly shown: Shown | undefined; readonly isRunning: boolean }) {
  return (
    <>
      <p class="status quiet" role="status">
        {statusOf(shown, isRunning)}
      </p>
      {shown === undefined && !isRunning && <p class="empty">What the model answers will be shown here.</p>}
      {shown?.kind === 'error' && (
        <p class="error" role="alert">
          {shown.message}
        </p>
      )}
      {shown?.kind === 'answer' && (
        <>
          {shown.answer.outputs.map((tensor) => (
            <OutputView
              key={tensor.name}
              tensor={tensor}
              spec={shown.declared.outputs.find(({ name }) => name === tensor.name)}
              isBatched={shown.declared.maxBatchSize > 0}
              image={shown.image}
            />
          ))}
          {shown.answer.outputs.length === 0 && <p class="empty">The answer has no outputs.</p>}
          {Object.keys(shown.answer.parameters).length > 0 && (
            <pre tabIndex={0} aria-label="Parameters of the answer">
              {JSON.stringify(shown.answer.parameters, null, 2)}
            </pre>
          )}
        </>
      )}
      {shown?.kind === 'stream' && <StreamView stream={shown.stream} />}
    </>
  );
}

function statusOf(shown: Shown | undefined, isRunning: boolean): string {
  if (shown?.kind === 'stream') {
    const { stream, ms, state } = shown;
    const words = { running: 'so far', ended: 'in all', stopped: 'until it was stopped' }[state];
    return `${stream.count} response${stream.count === 1 ? '' : 's'} ${words}, ${duration(ms)}`;
  }
  if (isRunning) return 'running …';
  if (shown?.kind === 'answer') return `version ${shown.answer.version}, ${duration(shown.ms)}`;
  return shown?.kind === 'error' ? (shown.status ?? '') : '';
}

function StreamView({ stream }: { readonly stream: StreamText }) {
  return (
    <>
      {[...stream.texts].map(([name, text]) => (
        <div class="output" key={name}>
          <h3>{name}</h3>
          <pre class="prose" tabIndex={0}>
            {text}
          </pre>
        </div>
      ))}
      {stream.error !== undefined && (
        <p class="error" role="alert">
          {stream.error}
        </p>
      )}
      {stream.latest.length > 0 && (
        <details class="events" open={stream.texts.size === 0}>
          <summary>
            {stream.count > stream.latest.length ? `The latest ${stream.latest.length} responses` : 'Responses'}
          </summary>
          <ol tabIndex={0} aria-label="Responses, the latest first">
            {stream.latest.toReversed().map(({ number, outputs }) => (
              <li key={number} value={number}>
                {outputs.map(([name, text]) => (
                  <span key={name}>
                    <b>{name}</b> {text}{' '}
                  </span>
                ))}
              </li>
            ))}
          </ol>
        </details>
      )}
    </>
  );
}
