import type { HttpRule } from './replay-http.js';
export const HTTP_RULES: readonly HttpRule[] = [];
