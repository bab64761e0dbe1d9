import type { Json } from '@postern/core'
import { activityStreams } from '../format/vocabulary.ts'

/** What stands where something was (AS2 Tombstone, ActivityPub §6.4); peers forget what they know of it. `deleted`: ISO 8601 UTC. */
export function renderTombstone(id: string, formerType?: string, deleted?: string): Json {
  return {
    '@context': activityStreams,
    id,
    type: 'Tombstone',
    ...(formerType && { formerType }),
    ...(deleted && { deleted }),
  }
}
