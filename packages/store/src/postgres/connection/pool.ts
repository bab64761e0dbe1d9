// Lends connections to transactions and readings.
import type { LineOptions, PostgresLine } from './line.ts'
import { openLine } from './line.ts'

/** A connection that a transaction has acquired from the pool. */
export interface HeldLine extends Pick<PostgresLine, 'run'> {
  release(): void
}

/** A pool of connections for transactions that run at the same time. */
export interface LinePool {
  /** Acquires a connection, and waits until one is free. */
  hold(): Promise<HeldLine>
  close(): Promise<void>
}

/** The number of connections for transactions that write at the same time, and for readings beside them. */
const poolSize = 4
/** The number of connections for the readings of operators, so that no other caller waits for these. */
export const operatorPoolSize = 2
/** The number of all connections of a gateway, including the one for hints. */
export const connectionsOfGateway = poolSize + operatorPoolSize + 1

interface PoolOptions extends LineOptions {
  readonly size?: number
}

export function openLinePool({ onOpen, size = poolSize, ...options }: PoolOptions): LinePool {
  const reopened = () => {
    onOpen?.()
    serve()
  }
  const lines = Array.from({ length: size }, () => openLine({ ...options, onOpen: reopened }))
  const free = [...lines]
  const waiting: ((line: PostgresLine) => void)[] = []

  /**
   * Acquires the free connection that was used last, because it has prepared the most statements. It returns a lost one only if the pool has no open
   * one.
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
