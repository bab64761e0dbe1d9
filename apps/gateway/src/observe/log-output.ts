import { writeSync } from 'node:fs'

interface LogOutput {
  write(line: string): void
}

const flushAt = 8_192
const flushAfterMs = 250
/** Kept while the reader does not take more; what exceeds it is lost rather than the gateway stopped. */
const keptAtMost = 1_048_576

/**
 * Lines leave in company, a quarter of a second late at most; what is left goes out when the process ends. A reader that
 * has gone away never holds the process up.
 */
export function createLogOutput(descriptor: number, write: typeof writeSync = writeSync): LogOutput {
  let waiting = ''
  let timer: NodeJS.Timeout | undefined

  function flush(): void {
    clearTimeout(timer)
    timer = undefined
    const octets = Buffer.from(waiting)
    try {
      const written = write(descriptor, octets)
      waiting = octets.subarray(written).toString()
    } catch (error) {
      const isFull = (error as NodeJS.ErrnoException).code === 'EAGAIN' && waiting.length < keptAtMost
      if (!isFull) waiting = ''
    }
  }

  process.once('exit', flush)
  return {
    write(line) {
      waiting += line
      if (waiting.length >= flushAt) flush()
      else timer ??= setTimeout(flush, flushAfterMs).unref()
    },
  }
}
