import { describe, expect, it } from 'vitest';
import { DynamicTable } from './dynamic-table.js';

function namesOf(table: DynamicTable): string[] {
  return Array.from({ length: table.count }, (_, i) => table.name(i));
}

describe('DynamicTable', () => {
  it('has the newest field first, however many there are', () => {
    const table = new DynamicTable(1e6);
    for (let i = 0; i < 100; i++) table.insert(`n${i}`, `v${i}`, i);
    expect(namesOf(table)).toEqual(Array.from({ length: 100 }, (_, i) => `n${99 - i}`));
    expect([table.value(99), table.flaws(99), table.value(0), table.flaws(0)]).toEqual(['v0', 0, 'v99', 99]);
  });

  it('evicts the oldest fields until a new one has room', () => {
    const table = new DynamicTable(3 * 34);
    for (const name of ['a', 'b', 'c', 'd']) table.insert(name, '1');
    expect(namesOf(table)).toEqual(['d', 'c', 'b']);
    expect(table.room).toBe(0);
    table.insert('ef', '12');
    expect(namesOf(table)).toEqual(['ef', 'd']);
    expect(table.room).toBe(3 * 34 - 34 - 36);
  });

  it('is empty after a field that is larger than all of it', () => {
    const table = new DynamicTable(100);
    table.insert('a', '1');
    table.insert('a', '1'.repeat(100));
    expect(table.count).toBe(0);
    expect(table.room).toBe(100);
  });

  it('evicts when it becomes smaller', () => {
    const table = new DynamicTable(1000);
    for (const name of ['a', 'b', 'c']) table.insert(name, '1');
    table.resize(2 * 34 + 1);
    expect(namesOf(table)).toEqual(['c', 'b']);
    table.resize(0);
    expect(table.count).toBe(0);
    table.resize(34);
    table.insert('d', '1');
    expect(namesOf(table)).toEqual(['d']);
  });

  it('has another generation after every change', () => {
    const table = new DynamicTable(100);
    const seen = [table.generation];
    table.insert('a', '1');
    seen.push(table.generation);
    table.insert('a', '1'.repeat(100));
    seen.push(table.generation);
    table.resize(10);
    seen.push(table.generation);
    expect(new Set(seen).size).toBe(4);
  });
});
