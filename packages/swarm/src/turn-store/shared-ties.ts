import type { AgentContext, Platform } from '@postern/core'
import { parseJsonText } from '@postern/core'
import type { RecordKey, RecordTies } from '@postern/transcript'
import { kindOfItems } from '../data/context.ts'

/** The ties of a record that all conversations share; undefined for other records. */
export type TieShared = (place: RecordKey) => RecordTies | undefined

interface Keeping {
  readonly keep_days: number
  readonly forgets: boolean
}

/** The configuration of the data that all conversations share. */
interface SharedDataConfig {
  readonly states: Readonly<Record<string, Keeping>>
  readonly storages: Readonly<Record<string, Keeping>>
  readonly data_limits: { readonly shared_records: number; readonly shared_bytes: number }
}

const dayMs = 24 * 3_600_000
/** It is computed again on demand, so it keeps nothing of its sources. */
const computeKeeping: Keeping = { keep_days: 365, forgets: true }

/** Data written in somebody's turn is removed with their message, unless it belongs to the gateway, or after nobody has written it for long. */
export function createSharedTies(
  { states, storages, data_limits }: SharedDataConfig,
  { messageNumber }: Pick<AgentContext, 'messageNumber'>,
  { now }: Pick<Platform, 'now'>,
): TieShared {
  const items = new Map(Object.entries(storages).map(([name, keeping]) => [kindOfItems(name), keeping]))
  const values = new Map(Object.entries(states))
  const most = { records: data_limits.shared_records, bytes: data_limits.shared_bytes }

  function findKeeping({ kind, key }: RecordKey): Keeping | undefined {
    if (kind === 'swarm-shared-state') return values.get(readName(key))
    return kind === 'swarm-shared-compute' ? computeKeeping : items.get(kind)
  }

  return place => {
    const keeping = findKeeping(place)
    if (!keeping) return undefined
    const message = keeping.forgets ? messageNumber : undefined
    return { most, until: now() + keeping.keep_days * dayMs, ...(message !== undefined && { message }) }
  }
}

function readName(key: string): string {
  const [, name] = parseJsonText(key) as readonly string[]
  return name ?? ''
}
