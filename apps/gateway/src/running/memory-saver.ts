import { setFlagsFromString } from 'node:v8'

const megabyte = 2 ** 20

/** Resident memory at which saving begins and ends, bytes. Between the two it stays as it is. */
const marks = { begin: 190 * megabyte, end: 165 * megabyte }

/** How often the process looks at its memory, ms. A look costs some microseconds. */
const everyMs = 250

interface MemorySaverOptions {
  /** Bytes that the process has resident. */
  readonly readResident?: () => number
  /** Tells V8; from then on it collects sooner, or later again. */
  readonly setFlag?: (flag: string) => void
  /** Version of V8; default: this one's. */
  readonly v8?: string
}

/** The first V8, as in Node 24, that has the flag for certain. An older one prints an error for a flag it does not know. */
const firstV8 = 13

/**
 * V8's memory saver keeps the heap small and costs a third more CPU time a message. So it is on only while the process is large: a flood
 * is slower and does not fill the machine, quiet hours are as fast as without.
 */
export function startMemorySaver(options: MemorySaverOptions = {}): { stop(): void } {
  const { readResident = process.memoryUsage.rss, setFlag = setFlagsFromString, v8 = process.versions.v8 } = options
  if (Number.parseInt(v8, 10) < firstV8) return { stop() {} }
  let isSaving = false
  const timer = setInterval(() => {
    const next = readResident() > (isSaving ? marks.end : marks.begin)
    if (next === isSaving) return
    isSaving = next
    setFlag(isSaving ? '--memory-saver-mode' : '--no-memory-saver-mode')
  }, everyMs)
  timer.unref()
  return { stop: () => clearInterval(timer) }
}
