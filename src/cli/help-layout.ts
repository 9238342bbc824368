// How helps are laid out: descriptions in one column, and below a flag that is too long for it.

import { type Command, Help } from 'commander';

const MOST_COLUMNS = 34;
const INDENT = 2;

export const HELP_LAYOUT: Partial<Help> = {
  padWidth(command: Command, helper: Help): number {
    return Math.min(Help.prototype.padWidth.call(this as Help, command, helper), MOST_COLUMNS);
  },

  formatItem(term: string, termWidth: number, description: string, helper: Help): string {
    const ownLine = helper.displayWidth(term) > termWidth && description !== '';
    const format = (text: string) => Help.prototype.formatItem.call(this as Help, text, termWidth, description, helper);
    return ownLine ? `${' '.repeat(INDENT)}${term}\n${format('')}` : format(term);
  },
};
