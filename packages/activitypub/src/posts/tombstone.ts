import type { Json } from '@postern/core'
import { activityStreams } from '../format/vocabulary.ts'

/**
 * The substitute for a deleted object (AS2 Tombstone, ActivityPub §6.4); peers forget their copy of it. `deleted`: ISO
 * 8601 UTC.
 */
export function renderTombstone(id: string, formerType?: string, deleted?: string): Json {
  return {
    '@context': activityStreams,
    id,
    type: 'Tombstone',
    ...(formerType && { formerType }),
    ...(deleted && { deleted }),
  }
}
