import { Argument, Command, Option } from 'commander';
import { describe, expect, it } from 'vitest';

import { commandTree } from './command-tree.js';
import { COMPLETION_SCRIPTS } from './completion-scripts.js';

const program = new Command('tool')
  .addCommand(
    new Command('serve')
      .summary("it's to [serve]: files")
      .argument('[files...]')
      .option('-c, --config <file>', 'a file; of options')
      .option('--port <number>', 'A port. The default is 1.')
      .addOption(new Option('--format <format>', 'which').choices(['a', 'b']))
      .option('--level <low|high>', 'how much')
      .option('--on [boolean]', 'whether')
      .option('--now', 'at once')
      .addOption(new Option('--gone', 'hidden').hideHelp()),
  )
  .addCommand(new Command('shell').summary('s').addArgument(new Argument('<shell>').choices(['x', 'y'])));

describe('what there is to complete', () => {
  it('is read from the commands', () => {
    const [serve, shell, help] = commandTree(program);
    expect(serve).toMatchObject({ name: 'serve', argument: 'file' });
    expect(serve!.flags.map(({ short, long, description, value }) => [short, long, description, value])).toEqual([
      ['-c', '--config', 'a file', 'file'],
      [undefined, '--port', 'A port', 'unknown'],
      [undefined, '--format', 'which', ['a', 'b']],
      [undefined, '--level', 'how much', ['low', 'high']],
      [undefined, '--on', 'whether', ['true', 'false']],
      [undefined, '--now', 'at once', undefined],
      ['-h', '--help', 'display help for command', undefined],
    ]);
    expect(shell).toMatchObject({ argument: ['x', 'y'] });
    expect(help).toMatchObject({ name: 'help', argument: ['serve', 'shell'] });
  });

  it.each([
    ['bash', "'serve --config')"],
    ['zsh', "'serve:it'\\''s to [serve]\\: files'"],
    ['fish', "-d 'it\\'s to [serve]: files'"],
  ] as const)('is in the script of %s, whatever is in its texts', (shell, part) => {
    const script = COMPLETION_SCRIPTS[shell](commandTree(program), 'tool');
    expect(script).toContain(part);
    expect(script).not.toMatch(/gone|undefined/);
  });
});
