// The frame of the page: the server, its models at the side, and the chosen one.

import type { ComponentChildren } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';

import type { FiguresJson } from '../src/frontend/page/page-json.js';
import { type Model, modelsOf, stateOf } from './models.js';
import { ModelView } from './model-view.js';
import { Overview } from './overview.js';
import { rate } from './texts.js';
import { type Seen, useServer } from './use-server.js';

export function App() {
  const seen = useServer();
  const chosen = useHash();
  const models = modelsOf(seen.models?.versions ?? []);
  const model = models.find(({ name }) => name === chosen);
  const { server } = seen.models ?? {};
  useEffect(() => {
    document.title = model === undefined ? 'TSTriton' : `${model.name} · TSTriton`;
  }, [model?.name]);
  return (
    <>
      <a class="skip" href="#main" onClick={focusMain}>
        Skip to the model
      </a>
      <header class="bar">
        <a class="brand" href="#/">
          <Mark />
          TSTriton
        </a>
        <span class="quiet">{server === undefined ? '' : `${server.name} ${server.version}`}</span>
        <span class={seen.trouble === undefined ? 'pulse' : 'pulse bad'} role="status">
          {seen.trouble ?? (seen.models === undefined ? 'connecting' : 'live')}
        </span>
        <a class="end" href="openapi.json">
          OpenAPI
        </a>
      </header>
      <div class="frame">
        <Models models={models} chosen={chosen} seen={seen} />
        <main id="main" tabIndex={-1}>
          {seen.wanted !== undefined && <Token header={seen.wanted} give={seen.give} />}
          <Shown seen={seen} models={models} model={model} chosen={chosen} />
        </main>
      </div>
    </>
  );
}

/** The name is part of the address, so the link must not change it. */
function focusMain(event: Event): void {
  event.preventDefault();
  document.getElementById('main')?.focus();
}

function Shown(props: {
  readonly seen: Seen;
  readonly models: readonly Model[];
  readonly model: Model | undefined;
  readonly chosen: string;
}): ComponentChildren {
  const { seen, models, model, chosen } = props;
  if (seen.models === undefined) return null;
  if (model !== undefined) return <ModelView key={model.name} model={model} seen={seen} />;
  if (chosen !== '') return <p class="empty">There is no model “{chosen}”.</p>;
  return <Overview models={models} seen={seen} />;
}

function Models({
  models,
  chosen,
  seen,
}: {
  readonly models: readonly Model[];
  readonly chosen: string;
  readonly seen: Seen;
}) {
  const nav = useRef<HTMLElement>(null);
  // On a phone the models lie in one row, of which the chosen one is to be seen.
  useEffect(() => {
    const { current } = nav;
    const link = current?.querySelector<HTMLElement>('[aria-current]');
    if (link) current!.scrollLeft = link.offsetLeft - (current!.clientWidth - link.offsetWidth) / 2;
  }, [chosen, models.length]);
  return (
    <nav class="models" aria-label="Models" ref={nav}>
      <a href="#/" aria-current={chosen === '' ? 'page' : undefined}>
        <span class="name">All models</span>
        <span class="figure">{models.length}</span>
      </a>
      {models.map((model) => (
        <a
          key={model.name}
          href={`#/${encodeURIComponent(model.name)}`}
          aria-current={chosen === model.name ? 'page' : undefined}
        >
          <span class={`dot ${stateOf(model)}`} />
          <span class="name">{model.name}</span>
          <span class="figure">{requestRate(seen, (figures) => figures.name === model.name)}</span>
        </a>
      ))}
    </nav>
  );
}

function requestRate({ history }: Seen, isWanted: (figures: FiguresJson) => boolean): string {
  const point = history.point(isWanted);
  return point === undefined || point.requests === 0 ? '' : `${rate(point.requests)}/s`;
}

/** The model that the address names; '' for none. */
function useHash(): string {
  const read = () => {
    try {
      return decodeURIComponent(location.hash.replace(/^#\/?/, ''));
    } catch {
      return '';
    }
  };
  const [hash, setHash] = useState(read);
  useEffect(() => {
    const onChange = () => setHash(read());
    addEventListener('hashchange', onChange);
    return () => removeEventListener('hashchange', onChange);
  }, []);
  return hash;
}

function Token({ header, give }: { readonly header: string; readonly give: Seen['give'] }) {
  const input = useRef<HTMLInputElement>(null);
  useEffect(() => input.current?.focus(), []);
  return (
    <form
      class="token"
      onSubmit={(event) => {
        event.preventDefault();
        give(header, input.current!.value);
      }}
    >
      <label for="token">
        The server wants the header <code>{header}</code>. The page keeps its value in memory, until it is closed.
      </label>
      <input id="token" ref={input} type="password" autocomplete="off" required />
      <button type="submit">Use it</button>
    </form>
  );
}

function Mark() {
  return (
    <svg viewBox="0 0 16 16" width="16" height="16" aria-hidden="true">
      <path
        d="M2.5 2v4.5a5.5 4 0 0 0 11 0V2M8 1v14"
        fill="none"
        stroke="currentColor"
        stroke-width="1.8"
        stroke-linecap="round"
      />
    </svg>
  );
}
