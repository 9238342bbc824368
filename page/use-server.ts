// Asks the server for models and figures again and again, while somebody looks at the page.

import { useCallback, useEffect, useRef, useState } from 'preact/hooks';

import type { PageModelsJson } from '../src/frontend/page/page-json.js';
import { History } from './figures.js';
import { fetchFigures, fetchModels, keepToken, TokenWanted } from './server.js';

const FIGURES_MS = 1000;
const MODELS_MS = 5000;

export interface Seen {
  readonly models: PageModelsJson | undefined;
  readonly history: History;
  /** Why the server does not answer; undefined while it does. */
  readonly trouble: string | undefined;
  /** The header that the server wants to be sent. */
  readonly wanted: string | undefined;
  /** How often a header was given. */
  readonly given: number;
  /** An answer wanted a header. */
  readonly want: (header: string) => void;
  readonly give: (header: string, value: string) => void;
}

export function useServer(): Seen {
  const [models, setModels] = useState<PageModelsJson>();
  const [trouble, setTrouble] = useState<string>();
  const [wanted, want] = useState<string>();
  const [, setTicks] = useState(0);
  const history = useRef(new History()).current;

  const attempt = useCallback(async (ask: () => Promise<void>) => {
    try {
      await ask();
      setTrouble(undefined);
      return true;
    } catch (error) {
      if (error instanceof TokenWanted) want(error.header);
      else setTrouble((error as Error).message);
      return !(error instanceof TokenWanted);
    }
  }, []);

  const askModels = useCallback(() => attempt(async () => setModels(await fetchModels())), []);
  const askFigures = useCallback(
    () =>
      attempt(async () => {
        history.add(await fetchFigures(), Date.now() / 1000);
        setTicks((ticks) => ticks + 1);
      }),
    [],
  );

  // Without the header an answer is refused each time, so the page waits for it.
  const [round, setRound] = useState(0);
  useEffect(() => repeated(askModels, MODELS_MS), [round]);
  useEffect(() => repeated(askFigures, FIGURES_MS), [round]);

  const give = useCallback((header: string, value: string) => {
    keepToken(header, value);
    want(undefined);
    setRound((rounds) => rounds + 1);
  }, []);
  return { models, history, trouble, wanted, given: round, want, give };
}

/** Asks at once and then again, one after the other, until it is not wanted any more or an answer says so. */
function repeated(ask: () => Promise<boolean>, ms: number): () => void {
  let timer: ReturnType<typeof setTimeout> | undefined;
  let isWanted = true;
  const next = async () => {
    const goesOn = document.hidden || (await ask());
    if (goesOn && isWanted) timer = setTimeout(() => void next(), ms);
  };
  void next();
  return () => {
    isWanted = false;
    clearTimeout(timer);
  };
}
