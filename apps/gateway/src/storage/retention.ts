// Deletes data that is older than the configuration allows, every hour.
import type { Log } from '@postern/message'
import { isoTime } from '@postern/message'
import type { GatewayStore } from '@postern/store'
import type { Config } from '../config/schema.ts'

type Cutoffs = Parameters<GatewayStore['prune']>[0]

const dayMs = 24 * 3_600_000
const pruneIntervalMs = 3_600_000

/** Returns the instants before which data of each kind is deleted. */
export function listCutoffs(retention: Config['retention'], now: number): Cutoffs {
  const toCutoff = (days: number) => (days > 0 ? isoTime(now - days * dayMs) : undefined)
  return {
    messages: toCutoff(retention.messages_days),
    raw: toCutoff(retention.raw_days),
    files: toCutoff(retention.files_days),
    unproven: toCutoff(retention.unproven_days),
    refused: toCutoff(retention.refused_days),
  }
}

interface RetentionDeps {
  readonly config: Pick<Config, 'retention'>
  readonly store: Pick<GatewayStore, 'prune'>
  readonly system: {
    readonly now: () => number
    readonly log: Log
    sleep(ms: number, signal: AbortSignal): Promise<void>
  }
}

/** Deletes expired data every hour until `signal` aborts. It starts an hour after the gateway, so that frequent restarts cause no work. */
export async function watchRetention({ config, store, system }: RetentionDeps, signal: AbortSignal): Promise<void> {
  const { now, log, sleep } = system
  while (!signal.aborted) {
    await sleep(pruneIntervalMs, signal).catch(() => undefined)
    if (signal.aborted) return
    try {
      const pruned = await store.prune(listCutoffs(config.retention, now()), { signal })
      if (pruned.bytes > 0) log.info({ ...pruned }, 'deleted data older than "retention" allows')
    } catch (error) {
      log.warn({ err: error }, 'cannot delete data older than "retention" allows; the gateway tries again in an hour')
    }
  }
}
