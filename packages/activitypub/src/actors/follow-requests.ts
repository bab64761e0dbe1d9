// Accepts or rejects waiting requests to follow an agent, and composes the answers to them.
import { hash } from 'node:crypto'
import type { Json } from '@postern/message'
import type { PlannedDelivery, RelationEffect, Store } from '@postern/pipeline'
import { asObject, textOf } from '../format/json-object.ts'
import { agentIris } from '../format/own-iris.ts'
import { toStoredJson } from '../format/targets.ts'
import { activityStreams } from '../format/vocabulary.ts'

/** Creates the function that accepts or rejects a pending request to follow. It returns false if the peer has no pending request. */
export function createFollowDecision(store: Pick<Store, 'findRelation' | 'findAuthored' | 'decide'>, origin: string) {
  return async function decideFollow(agent: string, peer: string, isAccepted: boolean): Promise<boolean> {
    const pendingRelation = await store.findRelation({ via: 'activitypub', agent, relation: 'pending', peer })
    const request = asObject(pendingRelation?.target)
    const [follow, inbox] = [textOf(request?.follow), textOf(request?.inbox)]
    if (!pendingRelation || !follow || !inbox) return false
    const messages = await store.findAuthored('activitypub', { author: peer, object: follow })
    const followMessage = messages.findLast(message => message.agent === agent)
    if (!followMessage) return false
    const effects: RelationEffect[] = [{ kind: 'unrelate', relation: 'pending', peer }]
    if (isAccepted) effects.push({ kind: 'relate', relation: 'follower', peer, target: pendingRelation.target })
    const answer = composeFollowAnswer(isAccepted ? 'Accept' : 'Reject', {
      origin,
      agent,
      peer,
      followIri: follow,
      inbox,
    })
    await store.decide(followMessage.message, { effects, deliveries: [answer] })
    return true
  }
}

export type FollowAnswer = 'Accept' | 'Reject'

interface FollowRequest {
  readonly origin: string
  readonly agent: string
  /** The actor that wants to follow. */
  readonly peer: string
  /** The IRI of the `Follow`. */
  readonly followIri: string
  readonly inbox: string
}

/**
 * Composes the `Accept` or `Reject` that answers a `Follow` (ActivityPub §7.5). It depends on the request alone, so a retry sends the same
 * document.
 */
export function composeFollowAnswer(type: FollowAnswer, request: FollowRequest): PlannedDelivery {
  const { origin, agent, peer, followIri: follow, inbox } = request
  const actor = agentIris(origin, agent).actor
  const handshake: Json = {
    '@context': activityStreams,
    id: `${actor}#${type.toLowerCase()}s/${hash('sha256', follow).slice(0, 32)}`,
    type,
    actor,
    to: [peer],
    object: { id: follow, type: 'Follow', actor: peer, object: actor },
  }
  return { to: inbox, peer, target: toStoredJson({ inbox, handshake }) }
}
