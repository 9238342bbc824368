import type { Suite } from '../suite.js'; export const runParts: Suite = () => Promise.resolve({ comparisons: [], goals: [], errors: 0 });
