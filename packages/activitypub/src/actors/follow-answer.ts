import { hash } from 'node:crypto'
import type { Json, PlannedDelivery } from '@postern/core'
import { agentIris } from '../format/own-iris.ts'
import { toJson } from '../format/reply-target.ts'
import { activityStreams } from '../format/vocabulary.ts'

export type FollowAnswer = 'Accept' | 'Reject'

interface AskedFollow {
  readonly origin: string
  readonly agent: string
  /** The actor that wants to follow. */
  readonly peer: string
  /** IRI of the `Follow`. */
  readonly follow: string
  readonly inbox: string
}

/**
 * The handshake that answers a `Follow` (ActivityPub §7.5). It depends on the request alone, so a second sending is the
 * same document.
 */
export function composeFollowAnswer(type: FollowAnswer, asked: AskedFollow): PlannedDelivery {
  const { origin, agent, peer, follow, inbox } = asked
  const own = agentIris(origin, agent).actor
  const handshake: Json = {
    '@context': activityStreams,
    id: `${own}#${type.toLowerCase()}s/${hash('sha256', follow).slice(0, 32)}`,
    type,
    actor: own,
    to: [peer],
    object: { id: follow, type: 'Follow', actor: peer, object: own },
  }
  return { to: inbox, peer, target: toJson({ inbox, handshake }) }
}
