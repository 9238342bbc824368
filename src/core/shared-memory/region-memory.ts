// The memory of a registered region. Whoever opens one has checked that the object is large enough; the memory stays
// as it was registered until it is closed, whatever happens to the object's name.

/** A part of a shared memory object. */
export interface RegionMemory {
  /** A view that later writes of the client show through; undefined where there is none. */
  view(offset: number, length: number): Uint8Array | undefined;
  /** Fills `target` with the bytes as they are now. */
  copy(offset: number, target: Uint8Array): void;
  /** Writes through to the object, and nowhere else than into these bytes. */
  write(offset: number, bytes: Uint8Array): void;
  /** Nothing is read or written any more. Views that were given out stay valid. */
  close(): void;
}

/** An object that was opened but is not used yet. */
export interface OpenedObject {
  readonly descriptor: number;
  readonly size: number;
}

/** Makes the memory of a part of an object. Takes ownership of the descriptor. */
export type MapRegion = (object: OpenedObject, offset: number, byteSize: number) => RegionMemory;
