import type { LineOptions, PostgresLine } from './line.ts'
import { openLine } from './line.ts'

/** A connection, as long as a transaction holds it. */
export interface HeldLine extends Pick<PostgresLine, 'run'> {
  release(): void
}

/** Connections for transactions that run at a time. */
export interface LinePool {
  /** Waits until one is free. */
  hold(): Promise<HeldLine>
  close(): Promise<void>
}

/** For transactions that write at a time, and for what reads beside them. */
const poolSize = 4
/** With the one for hints. */
export const connectionsOfGateway = poolSize + 1

export function openLinePool({ onOpen, ...options }: LineOptions): LinePool {
  const reopened = () => {
    onOpen?.()
    serve()
  }
  const lines = Array.from({ length: poolSize }, () => openLine({ ...options, onOpen: reopened }))
  const free = [...lines]
  const waiting: ((line: PostgresLine) => void)[] = []

  /**
   * The one that was used last knows most statements. One whose connection is gone serves nobody as long as another is there, or has yet to come
   * for the first time: that one nobody has used.
   */
  function takeFree(): PostgresLine | undefined {
    const at = free.findLastIndex(line => line.isThere())
    if (at >= 0) return free.splice(at, 1)[0]
    return lines.some(line => line.isThere()) ? undefined : free.shift()
  }

  function serve(): void {
    while (waiting.length > 0) {
      const line = takeFree()
      if (!line) return
      waiting.shift()?.(line)
    }
  }

  function release(line: PostgresLine): void {
    free.push(line)
    serve()
  }

  return {
    async hold() {
      const line = await new Promise<PostgresLine>(resolve => {
        waiting.push(resolve)
        serve()
      })
      return { run: line.run, release: () => release(line) }
    },
    async close() {
      await Promise.all(lines.map(line => line.close()))
    },
  }
}
