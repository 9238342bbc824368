// How long tests wait for what must come: limits for what never does. Nothing is to fail because a machine is busy or slow.

/** For one thing. */
export const WAIT_MILLISECONDS = 60_000;
/** For a whole test. */
export const TEST_MILLISECONDS = 120_000;
/** Between two looks at what tells nobody when it changes. */
export const POLL_MILLISECONDS = 5;
