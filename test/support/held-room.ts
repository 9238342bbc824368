/** A request or a call that may hold so much in memory, and tells how much it holds: what the server's budget is to real ones. */
export class HeldRoom {
  room = Infinity;
  held = 0;

  hold(bytes: number): boolean {
    if (bytes > this.room) return false;
    this.held = bytes;
    return true;
  }
}
