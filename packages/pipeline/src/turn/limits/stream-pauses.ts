// Makes the pauses between the pieces of a stream, because a stream that never waits would block the whole process.

/** The longest time for which a stream runs without a pause, in ms. */
const maxRunMs = 20

/** The pauses between the pieces of a stream, in which the process handles deadlines, cancellations and other turns. */
export class StreamPauses {
  #since = performance.now()

  /** Returns the pause to await; undefined if it is too early for one. */
  findPause(): Promise<void> | undefined {
    if (performance.now() - this.#since < maxRunMs) return undefined
    return new Promise(resolve =>
      setImmediate(() => {
        this.#since = performance.now()
        resolve()
      }),
    )
  }
}
