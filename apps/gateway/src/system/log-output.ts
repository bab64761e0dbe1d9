// Writes lines of the log in batches, and drops lines rather than wait for a slow reader.
import { writeSync } from 'node:fs'

const flushChars = 8_192

const flushAfterMs = 250

/** The largest text that waits for a slow reader, in characters. Beyond it the gateway drops lines instead of blocking. */
const maxWaitingChars = 1_048_576

/**
 * Opens an output that delays lines by a quarter of a second at most, and writes the rest when the process ends. A reader that has gone
 * away never blocks the process.
 */
export function createLogOutput(descriptor: number, write: typeof writeSync = writeSync) {
  let waiting = ''
  let timer: NodeJS.Timeout | undefined

  function flush(): void {
    clearTimeout(timer)
    timer = undefined
    const octets = Buffer.from(waiting)
    try {
      const writtenBytes = write(descriptor, octets)
      waiting = octets.subarray(writtenBytes).toString()
    } catch (error) {
      const isFull = (error as NodeJS.ErrnoException).code === 'EAGAIN' && waiting.length < maxWaitingChars
      if (!isFull) waiting = ''
    }
  }

  process.once('exit', flush)
  return {
    write(line: string): void {
      waiting += line
      if (waiting.length >= flushChars) flush()
      else timer ??= setTimeout(flush, flushAfterMs).unref()
    },
  }
}
