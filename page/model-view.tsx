// One model: what it takes and gives, the form that tries it, and what it does at the moment.

import { useEffect, useState } from 'preact/hooks';

import type { DeclaredJson } from '../src/frontend/page/page-json.js';
import { Live } from './live.js';
import type { Model } from './models.js';
import { fetchConfig, TokenWanted } from './server.js';
import { Try } from './try.js';
import { TypeOf } from './type-of.js';
import type { Seen } from './use-server.js';

export function ModelView({ model, seen }: { readonly model: Model; readonly seen: Seen }) {
  const { name, versions } = model;
  const [chosen, setChosen] = useState<string>();
  const ready = versions.find(({ state }) => state === 'READY');
  const version = versions.find((one) => one.version === chosen) ?? ready ?? versions[0]!;
  const { declared } = version;
  const isLatest = version.version === ready?.version;
  return (
    <article>
      <header class="head">
        <h1>{name}</h1>
        {versions.length > 1 ? (
          <label class="inline">
            version{' '}
            <select value={version.version} onChange={(event) => setChosen(event.currentTarget.value)}>
              {versions.map((one) => (
                <option key={one.version}>{one.version}</option>
              ))}
            </select>
          </label>
        ) : (
          <span class="quiet">version {version.version}</span>
        )}
        <span class="state">
          <span class={`dot ${version.state}`} />
          {version.state.toLowerCase()}
        </span>
        {declared !== undefined &&
          traits(declared).map((trait) => (
            <span class="trait" key={trait}>
              {trait}
            </span>
          ))}
      </header>
      {declared?.description !== undefined && <p class="description">{declared.description}</p>}
      {declared === undefined ? (
        <p class="empty">
          This version takes no requests at the moment{version.reason === undefined ? '.' : `: ${version.reason}`}
        </p>
      ) : (
        <>
          <Signature declared={declared} />
          <Try
            key={`${name}/${version.version}`}
            model={name}
            version={version.version}
            isLatest={isLatest}
            declared={declared}
            grpcPort={seen.models?.server.grpcPort}
            want={seen.want}
          />
        </>
      )}
      <Live
        key={version.version}
        history={seen.history}
        isWanted={(figures) => figures.name === name && figures.version === version.version}
      />
      {declared !== undefined && (
        <Config key={version.version} model={name} version={version.version} want={seen.want} />
      )}
    </article>
  );
}

function traits({ decoupled, sequences, maxBatchSize, openai, route }: DeclaredJson): string[] {
  return [
    ...(maxBatchSize > 1 ? [`batches to ${maxBatchSize}`] : []),
    ...(decoupled ? ['streams'] : []),
    ...(sequences ? ['sequences'] : []),
    ...(openai === undefined ? [] : [`OpenAI ${openai}`]),
    ...(route === undefined ? [] : [`POST ${route}`]),
  ];
}

function Signature({ declared }: { readonly declared: DeclaredJson }) {
  return (
    <dl class="signature">
      {(['inputs', 'outputs'] as const).map((kind) => (
        <div key={kind}>
          <dt>{kind}</dt>
          {declared[kind].map((spec) => (
            <dd key={spec.name} title={spec.description}>
              <b>{spec.name}</b>
              {spec.optional ? '?' : ''} <TypeOf spec={spec} />
              {spec.description !== undefined && <span class="quiet"> {spec.description}</span>}
            </dd>
          ))}
        </div>
      ))}
    </dl>
  );
}

function Config({
  model,
  version,
  want,
}: {
  readonly model: string;
  readonly version: string;
  readonly want: Seen['want'];
}) {
  const [isOpen, setOpen] = useState(false);
  const [text, setText] = useState('');
  useEffect(() => {
    if (!isOpen) return;
    fetchConfig(model, version).then(
      (config) => setText(JSON.stringify(config, null, 2)),
      (error: Error) => (error instanceof TokenWanted ? want(error.header) : setText(error.message)),
    );
  }, [isOpen]);
  return (
    <details class="fold" onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>Configuration</summary>
      <pre tabIndex={0}>{text}</pre>
    </details>
  );
}
