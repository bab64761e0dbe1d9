// Measures time without the periods in which this machine is too busy.
import { once } from 'node:events'
import { createServer, get } from 'node:http'
import type { AddressInfo } from 'node:net'

/** A clock that stands still while this machine is too busy to serve even this process. */
export interface FairClock {
  /** Returns the fair time, ms. */
  now(): number
  /** Rejects after `ms` of fair time, or when the signal aborts. */
  expire(ms: number, signal: AbortSignal): Promise<never>
  close(): void
}

const pollIntervalMs = 100
/** The longest time in which a server that does nothing answers on a machine that is not busy, ms. */
const maxPromptAnswerMs = 300

/** Polls a server in this process, and counts the time in which it answered promptly. */
export async function openFairClock(): Promise<FairClock> {
  const server = createServer((_, response) => response.end('ok')).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  let fairTimeMs = 0
  let isOpen = true

  async function countFairTime(): Promise<void> {
    while (isOpen) {
      const startedAt = performance.now()
      const answerMs = await timeAnswer(port).catch(() => Number.POSITIVE_INFINITY)
      await sleep(pollIntervalMs)
      const elapsedMs = performance.now() - startedAt
      if (answerMs < maxPromptAnswerMs && elapsedMs < pollIntervalMs + 2 * maxPromptAnswerMs) fairTimeMs += elapsedMs
    }
  }

  void countFairTime()
  return {
    now: () => fairTimeMs,
    async expire(ms, signal) {
      const deadline = fairTimeMs + ms
      while (fairTimeMs < deadline && !signal.aborted) await sleep(pollIntervalMs)
      throw new Error('too late')
    },
    close() {
      isOpen = false
      server.close()
      server.closeAllConnections()
    },
  }
}

/** Returns the time that `GET /healthz` takes at this port, ms. */
export function timeAnswer(port: number): Promise<number> {
  const startedAt = performance.now()
  return new Promise((resolve, reject) => {
    const request = get({ host: '127.0.0.1', port, path: '/healthz', agent: false }, answer => {
      answer.resume()
      answer.once('end', () => resolve(performance.now() - startedAt))
    })
    request.once('error', reject)
  })
}

export function sleep(ms: number): Promise<void> {
  return new Promise(resolve => setTimeout(resolve, ms))
}
