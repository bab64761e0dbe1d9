// Records the answers of other hosts and of DNS, so that a replay can use the same answers.
import type { FetchAnswer, GuardedFetch, Json, System } from '@postern/message'
import type { ReplayStore } from '@postern/pipeline'
import { dnsKeyOf, fetchKeyOf } from '@postern/pipeline'
import type { ShownDocument } from './recorded-answer.ts'
import { describeAnswer, describeFetchFailure, findShownDocument } from './recorded-answer.ts'

/** The members of a system whose answers are recorded. */
type RecordedSystem = Pick<System, 'fetch' | 'configured' | 'configuredFor' | 'resolveDns'>

type NoteLookup = Pick<ReplayStore, 'noteLookup'>

/** Wraps fetches and DNS queries so that the store records each answer. */
export function recordFetches<Outer extends RecordedSystem & Pick<System, 'now'>>(
  system: Outer,
  store: NoteLookup,
): Outer {
  const { fetch, configured, configuredFor, resolveDns, now } = system
  const recordAnswer = (key: string, answer: Json | undefined, document: ShownDocument = {}) => {
    if (answer !== undefined) store.noteLookup({ key, at: now(), answer, ...document })
  }
  async function fetchAndRecord(
    fetch: GuardedFetch,
    key: string,
    ...fetchArguments: Parameters<GuardedFetch>
  ): Promise<FetchAnswer> {
    try {
      const answer = await fetch(...fetchArguments)
      recordAnswer(key, describeAnswer(answer), findShownDocument(answer))
      return answer
    } catch (error) {
      recordAnswer(key, describeFetchFailure(error))
      throw error
    }
  }
  // A request that is not recorded costs no additional promise, because deliveries pass here, too.
  const wrapFetch =
    (fetch: GuardedFetch): GuardedFetch =>
    (url, request) => {
      const key = fetchKeyOf(url, request)
      return key === undefined ? fetch(url, request) : fetchAndRecord(fetch, key, url, request)
    }
  const recordNetwork = <Network extends Pick<System, 'fetch'>>(network: Network): Network => ({
    ...network,
    fetch: wrapFetch(network.fetch),
  })

  return {
    ...system,
    fetch: wrapFetch(fetch),
    ...(configured && { configured: recordNetwork(configured) }),
    ...(configuredFor && { configuredFor: (origins: readonly string[]) => recordNetwork(configuredFor(origins)) }),
    resolveDns: async (name, type) => {
      const key = dnsKeyOf(name, type)
      try {
        const records = await resolveDns(name, type)
        recordAnswer(key, { records: records as Json })
        return records
      } catch (error) {
        recordAnswer(key, describeDnsFailure(error))
        throw error
      }
    },
  }
}

function describeDnsFailure(error: unknown): Json | undefined {
  const { code, message } = (error ?? {}) as { readonly code?: unknown; readonly message?: unknown }
  return typeof code === 'string' ? { code, message: String(message) } : undefined
}
