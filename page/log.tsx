// The latest entries of the server's log, for those who may read it.

import { useEffect, useRef, useState } from 'preact/hooks';

import type { PageLogEntryJson } from '../src/frontend/page/page-json.js';
import { fetchLog, TokenWanted } from './server.js';
import type { Seen } from './use-server.js';

const LOG_MS = 1000;
/** Older entries are forgotten. */
const MOST_ENTRIES = 500;
const LETTERS = { error: 'E', warning: 'W', info: 'I', verbose: 'V' } as const;

export function Log({ seen }: { readonly seen: Seen }) {
  const [isOpen, setOpen] = useState(false);
  const [entries, setEntries] = useState<readonly PageLogEntryJson[]>();
  const [trouble, setTrouble] = useState('');
  const list = useRef<HTMLOListElement>(null);
  useEffect(() => {
    if (!isOpen) return;
    let last = 0;
    let isWanted = true;
    let timer: ReturnType<typeof setTimeout> | undefined;
    const read = async () => {
      try {
        const { entries: got } = document.hidden ? { entries: [] } : await fetchLog(last);
        if (!isWanted) return;
        setTrouble('');
        // A server that was started anew counts from 1 again.
        const isNew = got.length > 0 && got[0]!.number <= last;
        setEntries((kept = []) => (got.length === 0 ? kept : [...(isNew ? [] : kept), ...got].slice(-MOST_ENTRIES)));
        last = got.at(-1)?.number ?? last;
      } catch (error) {
        if (!isWanted) return;
        setTrouble((error as Error).message);
        if (error instanceof TokenWanted) return seen.want(error.header);
      }
      timer = setTimeout(() => void read(), LOG_MS);
    };
    setEntries(undefined);
    void read();
    return () => {
      isWanted = false;
      clearTimeout(timer);
    };
  }, [isOpen, seen.given]);
  // The list stays at its end, unless somebody has scrolled up to read.
  const isAtEnd = useRef(true);
  useEffect(() => {
    const element = list.current;
    if (element !== null && isAtEnd.current) element.scrollTop = element.scrollHeight;
  }, [entries]);
  return (
    <details class="fold" onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>Log</summary>
      {trouble !== '' && <p class="quiet">{trouble}</p>}
      {trouble === '' && entries?.length === 0 && <p class="quiet">Nothing has been logged yet.</p>}
      {trouble === '' && entries !== undefined && entries.length > 0 && (
        <ol
          class="log"
          ref={list}
          tabIndex={0}
          aria-label="The latest entries of the log"
          onScroll={({ currentTarget: { scrollTop, scrollHeight, clientHeight } }) =>
            (isAtEnd.current = scrollTop + clientHeight > scrollHeight - 24)
          }
        >
          {entries.map(({ number, time, level, message }) => (
            <li key={number} class={level}>
              <span class="quiet">
                {LETTERS[level]} {new Date(time).toTimeString().slice(0, 8)}
              </span>{' '}
              {message}
            </li>
          ))}
        </ol>
      )}
    </details>
  );
}
