// The request as code, in one language at a time.

import type { ComponentChildren } from 'preact';
import { useRef, useState } from 'preact/hooks';

interface CodeProps {
  /** Or why there are none. */
  readonly samples: readonly (readonly [language: string, code: string])[] | string;
  readonly onClose: () => void;
}

/** The language that was looked at last. */
let last = 'curl';

export function Code({ samples: given, onClose }: CodeProps) {
  const samples = typeof given === 'string' ? [] : given;
  const [language, setLanguage] = useState(last);
  const [copied, setCopied] = useState('');
  const [, code = String(given)] = samples.find(([name]) => name === language) ?? samples[0] ?? [];
  const shown = samples.some(([name]) => name === language) ? language : 'curl';
  const text = useRef<HTMLPreElement>(null);
  const copy = async () => {
    try {
      await navigator.clipboard.writeText(code);
      setCopied('Copied');
    } catch {
      // Pages that are neither of localhost nor over https have no clipboard.
      getSelection()?.selectAllChildren(text.current!);
      setCopied('Selected');
    }
    setTimeout(() => setCopied(''), 1500);
  };
  return (
    <div class="code" role="region" aria-label="The request as code">
      <div class="row">
        <span class="modes" role="group" aria-label="Language" hidden={samples.length === 0}>
          {samples.map(([name]) => (
            <button
              key={name}
              type="button"
              aria-pressed={name === shown}
              onClick={() => {
                last = name;
                setLanguage(name);
              }}
            >
              {name}
            </button>
          ))}
        </span>
        <span class="row end">
          <span role="status">{copied}</span>
          <button type="button" class="small" onClick={() => void copy()}>
            Copy
          </button>
          <button type="button" class="small" onClick={onClose} aria-label="Close the code">
            ×
          </button>
        </span>
      </div>
      <pre ref={text} tabIndex={0}>
        <Coloured code={code} />
      </pre>
    </div>
  );
}

/** Texts and comments, which are enough to find one's way. */
const TOKENS = /('(?:[^'\\\n]|\\.)*'|"(?:[^"\\\n]|\\.)*")|((?:^|\s)(?:#|\/\/)[^\n]*)/g;

function Coloured({ code }: { readonly code: string }) {
  let at = 0;
  const parts: ComponentChildren[] = [];
  for (const match of code.matchAll(TOKENS)) {
    parts.push(code.slice(at, match.index), <span class={match[1] === undefined ? 'remark' : 'text'}>{match[0]}</span>);
    at = match.index + match[0].length;
  }
  return [...parts, code.slice(at)];
}
