// All models in one table, and what they do together.

import { Live } from './live.js';
import { Log } from './log.js';
import { type Model, stateOf } from './models.js';
import { ORIGIN } from './server.js';
import { duration, percent, rate } from './texts.js';
import type { Seen } from './use-server.js';

export function Overview({ models, seen }: { readonly models: readonly Model[]; readonly seen: Seen }) {
  if (models.length === 0) return <NoModels />;
  const { origin, hostname } = new URL(ORIGIN);
  const grpcPort = seen.models?.server.grpcPort;
  return (
    <article>
      <header class="head">
        <h1>All models</h1>
        <span class="addresses quiet">
          HTTP <code>{origin}</code>
          {grpcPort !== undefined && (
            <>
              {' '}
              gRPC <code>{`${hostname}:${grpcPort}`}</code>
            </>
          )}
        </span>
      </header>
      <div class="scroll" tabIndex={0} role="region" aria-label="Models and their figures">
        <table class="grid">
          <thead>
            <tr>
              {['Model', 'State', 'Requests/s', 'p50', 'p99', 'Waiting', 'Rows a batch', 'Busy', 'Failures/s'].map(
                (title) => (
                  <th key={title} scope="col">
                    {title}
                  </th>
                ),
              )}
            </tr>
          </thead>
          <tbody>
            {models.map((model) => {
              const { name } = model;
              const point = seen.history.point((figures) => figures.name === name);
              return (
                <tr key={name}>
                  <th scope="row">
                    <a href={`#/${encodeURIComponent(name)}`}>{name}</a>
                    <span class="about">{aboutOf(model)}</span>
                  </th>
                  <td>
                    <span class={`dot ${stateOf(model)}`} /> {stateOf(model).toLowerCase()}
                  </td>
                  <td>{point === undefined ? '–' : rate(point.requests)}</td>
                  <td>{duration(point?.p50 ?? null)}</td>
                  <td>{duration(point?.p99 ?? null)}</td>
                  <td>{point?.waiting ?? '–'}</td>
                  <td>{point?.rowsPerBatch?.toFixed(1) ?? '–'}</td>
                  <td>{percent(point?.busy ?? null)}</td>
                  <td class={point !== undefined && point.failures > 0 ? 'bad' : ''}>
                    {point === undefined ? '–' : rate(point.failures)}
                  </td>
                </tr>
              );
            })}
          </tbody>
        </table>
      </div>
      <Live history={seen.history} isWanted={() => true} />
      <Log seen={seen} />
    </article>
  );
}

/** The description, or what it takes and gives. */
function aboutOf({ versions }: Model): string {
  const declared = versions.find((one) => one.declared !== undefined)?.declared;
  if (declared === undefined) return '';
  const names = (kind: 'inputs' | 'outputs') => declared[kind].map(({ name }) => name).join(', ');
  return declared.description ?? `${names('inputs')} → ${names('outputs')}`;
}

const EXAMPLE = `triton.bind({
  modelName: 'Double',
  inputs: { x: { dtype: 'float32', shape: [-1] } },
  outputs: { y: { dtype: 'float32', shape: [-1] } },
  inferFunc: batch(({ x }) => ({ y: x.map((value) => 2 * value) })),
});`;

function NoModels() {
  return (
    <article>
      <h1>No models yet</h1>
      <p>The server runs, and has no models. A model that a program binds appears here by itself:</p>
      <pre tabIndex={0}>{EXAMPLE}</pre>
    </article>
  );
}
