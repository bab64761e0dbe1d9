import type { Json, RelationEffect, Store } from '@postern/core'
import { asObject, textOf } from '../format/reading.ts'
import { composeFollowAnswer } from './follow-answer.ts'

/** Accepts or rejects a waiting request to follow. False when the peer does not wait (any more). */
type DecideFollow = (agent: string, peer: string, isAccepted: boolean) => Promise<boolean>

export function createFollowDecision(
  store: Pick<Store, 'findRelation' | 'findAuthored' | 'decide'>,
  origin: string,
): DecideFollow {
  return async function decideFollow(agent, peer, isAccepted) {
    const pending = await store.findRelation({ via: 'activitypub', agent, relation: 'pending', peer })
    const { follow, inbox } = readRequest(pending?.target)
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

function readRequest(target: Json | undefined): {
  readonly follow?: string | undefined
  readonly inbox?: string | undefined
} {
  const request = asObject(target)
  return { follow: textOf(request?.follow), inbox: textOf(request?.inbox) }
}
