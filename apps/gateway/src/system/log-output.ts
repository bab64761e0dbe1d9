// Writes lines of the log in batches, and drops lines rather than wait for a slow reader.
import { writeSync } from 'node:fs'

const flushChars = 8_192

const flushAfterMs = 250

/** The largest text that waits for a slow reader, in characters. Beyond this size the gateway drops lines instead of blocking. */
const maxWaitingChars = 1_048_576

/**
 * Opens an output that delays lines by a quarter of a second at most, and writes the rest when the process ends. A reader that has gone
 * away never blocks the process.
 */
export function createLogOutput(descriptor: number, write: typeof writeSync = writeSync) {
  let pendingText = ''
  let timer: NodeJS.Timeout | undefined

  function flush(): void {
    clearTimeout(timer)
    timer = undefined
    const bytes = Buffer.from(pendingText)
    try {
      const writtenCount = write(descriptor, bytes)
      pendingText = bytes.subarray(writtenCount).toString()
    } catch (error) {
      const isFull = (error as NodeJS.ErrnoException).code === 'EAGAIN' && pendingText.length < maxWaitingChars
      if (!isFull) pendingText = ''
    }
  }

  process.once('exit', flush)
  return {
    write(line: string): void {
      pendingText += line
      if (pendingText.length >= flushChars) flush()
      else timer ??= setTimeout(flush, flushAfterMs).unref()
    },
  }
}
