/** setTimeout's longest delay. */
export const LONGEST_TIMER = 2 ** 31 - 1;
