import { hash } from 'node:crypto'
import type { Json, PlannedDelivery, RelationEffect, Store } from '@postern/core'
import { activityStreams, agentIris, asObject, textOf, toJson } from '../format/document.ts'

/** Accepts or rejects a waiting request to follow. False when the peer does not wait (any more). */
export function createFollowDecision(store: Pick<Store, 'findRelation' | 'findAuthored' | 'decide'>, origin: string) {
  return async function decideFollow(agent: string, peer: string, isAccepted: boolean): Promise<boolean> {
    const pending = await store.findRelation({ via: 'activitypub', agent, relation: 'pending', peer })
    const asked = asObject(pending?.target)
    const [follow, inbox] = [textOf(asked?.follow), textOf(asked?.inbox)]
    if (!pending || !follow || !inbox) return false
    const known = await store.findAuthored('activitypub', { author: peer, object: follow })
    const request = known.findLast(message => message.agent === agent)
    if (!request) return false
    const effects: RelationEffect[] = [{ kind: 'unrelate', relation: 'pending', peer }]
    if (isAccepted) effects.push({ kind: 'relate', relation: 'follower', peer, target: pending.target })
    const answer = composeFollowAnswer(isAccepted ? 'Accept' : 'Reject', { origin, agent, peer, follow, inbox })
    await store.decide(request.message, { effects, deliveries: [answer] })
    return true
  }
}

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
