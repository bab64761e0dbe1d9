// Fetches files that messages link to, within a daily budget for each host.

import { admitsMedia, detectMedia } from '@postern/http'
import { createKeyedSemaphore } from '@postern/limits'
import type { GuardedFetch } from '@postern/message'
import type { FetchFile } from '@postern/pipeline'
import type { ChannelSlice } from '../config/channel-slices.ts'

/** The number of bytes that the gateway fetches from one host per day, because a stranger’s post must not fill the disk. */
const maxDailyBytes = 256 * 1024 * 1024
const dayMs = 24 * 3_600_000
/** The number of hosts with a budget. Above it, all budgets start again, so that the map stays small. */
const maxHosts = 10_000
/** The number of concurrent fetches, each of which holds its bytes in memory. */
const maxConcurrentFetches = 8
const requestOptions = { timeoutMs: 15_000, redirects: 3 } as const

/**
 * Creates the fetcher. It accepts only files of types that people may attach in the chat, and only from public addresses. Returns undefined if no channel keeps
 * files.
 */
export function createFileFetcher(
  channelSlices: readonly ChannelSlice[],
  { fetch, now }: { readonly fetch: GuardedFetch; readonly now: () => number },
): FetchFile | undefined {
  const keepsFiles = channelSlices.some(({ module, config }) => module.keepsFiles?.(config))
  const [fileRules] = channelSlices.flatMap(({ module, config }) => module.fileRules?.(config) ?? [])
  if (!keepsFiles || !fileRules) return undefined
  const dailyBytes = createDayBudget(now)
  const semaphore = createKeyedSemaphore({ maxRunning: maxConcurrentFetches, maxWaiting: Number.POSITIVE_INFINITY })
  return async (url, signal) => {
    const { host } = new URL(url)
    if (dailyBytes.usedBytes(host) >= maxDailyBytes) return undefined
    const options = { ...requestOptions, signal, maxBytes: fileRules.max_bytes }
    // All hosts share one key, so the limit of concurrent fetches holds for all of them together.
    // A failed fetch may have received as many bytes as the limit of a file.
    const { status, body } = await semaphore
      .run('', signal, () => fetch(url, options))
      .catch(error => {
        dailyBytes.add(host, fileRules.max_bytes)
        throw error
      })
    dailyBytes.add(host, body.byteLength)
    const mime = detectMedia(body)
    const isAccepted = status === 200 && body.byteLength > 0 && admitsMedia(fileRules.types, mime)
    return isAccepted ? { bytes: body, mime } : undefined
  }
}

function createDayBudget(now: () => number) {
  const bytesByHost = new Map<string, number>()
  let day = 0
  const startDay = () => {
    const today = Math.floor(now() / dayMs)
    if (today !== day || bytesByHost.size > maxHosts) bytesByHost.clear()
    day = today
  }
  return {
    usedBytes(host: string): number {
      startDay()
      return bytesByHost.get(host) ?? 0
    },
    add: (host: string, count: number) => void bytesByHost.set(host, (bytesByHost.get(host) ?? 0) + count),
  }
}
