import { describe, expect, it } from 'vitest';
import { ReceiveWindow } from './receive-window.js';

describe('ReceiveWindow', () => {
  it('gives bytes back in portions of half the window', () => {
    const window = new ReceiveWindow(100);
    expect(window.take(60)).toBe(true);
    expect(window.consume(49)).toBe(0);
    expect(window.consume(1)).toBe(50);
    expect(window.available).toBe(90);
    expect(window.consume(10)).toBe(0);
  });

  it('tells when a frame is larger than what is left', () => {
    const window = new ReceiveWindow(100);
    expect(window.take(100)).toBe(true);
    expect(window.take(0)).toBe(true);
    expect(window.take(1)).toBe(false);
  });

  it('may become negative when it is made smaller', () => {
    const window = new ReceiveWindow(100);
    window.take(80);
    window.resize(50);
    expect(window.available).toBe(-30);
    expect(window.take(1)).toBe(false);
    expect(window.consume(80)).toBe(80);
    expect(window.available).toBe(49);
  });
});
