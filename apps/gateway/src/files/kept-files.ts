import type { FetchFile, GuardedFetch } from '@postern/core'
import { admitsMedia, detectMedia } from '@postern/http'
import { createKeyedSemaphore } from '@postern/limits'
import type { ChannelSlice } from '../config/channel-slices.ts'

/** What is fetched of one host in a day, bytes: a stranger's post must not fill the disk. */
const mostOfHost = 256 * 1024 * 1024
const dayMs = 24 * 3_600_000
const mostHosts = 10_000
/** Their bytes are in memory. */
const atOnce = 8
const request = { timeoutMs: 15_000, redirects: 3 } as const

/** Files that messages point to, as far as they are such as people may attach in the chat; public addresses alone. */
export function createFileFetcher(
  slices: readonly ChannelSlice[],
  { fetch, now }: { readonly fetch: GuardedFetch; readonly now: () => number },
): FetchFile | undefined {
  const isKeeping = slices.some(({ module, config }) => module.keepsFiles?.(config))
  const [rules] = slices.flatMap(({ module, config }) => module.fileRules?.(config) ?? [])
  if (!isKeeping || !rules) return undefined
  const spent = createDayBudget(now)
  const semaphore = createKeyedSemaphore({ width: atOnce, queue: Number.POSITIVE_INFINITY })
  return async (url, signal) => {
    const { host } = new URL(url)
    if (spent.of(host) >= mostOfHost) return undefined
    const asked = { ...request, signal, maxBytes: rules.max_bytes }
    // One that breaks off may have sent as much as is taken of a file.
    const { status, body } = await semaphore
      .pass('', signal, () => fetch(url, asked))
      .catch(error => {
        spent.add(host, rules.max_bytes)
        throw error
      })
    spent.add(host, body.byteLength)
    const mime = detectMedia(body)
    const isKept = status === 200 && body.byteLength > 0 && admitsMedia(rules.types, mime)
    return isKept ? { bytes: body, mime } : undefined
  }
}

function createDayBudget(now: () => number) {
  const bytes = new Map<string, number>()
  let day = 0
  const turn = () => {
    const today = Math.floor(now() / dayMs)
    if (today !== day || bytes.size > mostHosts) bytes.clear()
    day = today
  }
  return {
    of(host: string): number {
      turn()
      return bytes.get(host) ?? 0
    },
    add: (host: string, more: number) => void bytes.set(host, (bytes.get(host) ?? 0) + more),
  }
}
