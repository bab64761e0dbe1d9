// Handles `Follow`, and accepts, holds or rejects the request by the configured policy.
import type { Json } from '@postern/message'
import type { Intake, PlannedDelivery, RelationEffect } from '@postern/pipeline'
import type { FollowAnswer } from '../../actors/follow-requests.ts'
import { composeFollowAnswer } from '../../actors/follow-requests.ts'
import type { ActivityPubConfig } from '../../config.ts'
import { asObject, idOf } from '../../format/json-object.ts'
import { findAgentName } from '../../format/own-iris.ts'
import { draftAct, eventParts, targetActor, toIntake } from '../../normalize.ts'
import type { ActivityKind, ResolvedActivity } from '../activity-kind.ts'

type Outcome = Pick<Intake, 'disposition' | 'effects' | 'deliveries' | 'flags'>

/** Handles a request to receive everything that an agent posts publicly. A peer that blocks the agent has to lift the block first. */
export const follow: ActivityKind = {
  async find({ activity, actor }, { agents, store, foreignInboxes }) {
    const agent = findAgentName(idOf(activity.json.object) ?? '', agents)
    if (!agent || !actor.inbox) return undefined
    const key = { via: 'activitypub', agent, peer: actor.id } as const
    if (await store.findRelation({ ...key, relation: 'blocked_by' })) return undefined
    const existingFollow = await store.findRelation({ ...key, relation: 'follower' })
    if (asObject(existingFollow?.target)?.inbox !== actor.inbox) foreignInboxes.admitFollower(actor)
    return { agents: [agent], isFollowing: existingFollow !== undefined }
  },
  read(resolved) {
    const [agent = ''] = resolved.agents
    const inbox = resolved.proven.actor.inbox ?? ''
    const outcomeOf = outcomes[resolved.isFollowing ? 'open' : resolved.gateway.follows]
    return [
      toIntake(resolved, {
        ...draftAct(resolved, agent),
        kind: 'follow',
        parts: eventParts('Follows you'),
        target: { ...targetActor(resolved), event: 'Follow' },
        ...outcomeOf(resolved, agent, inbox),
      }),
    ]
  },
}

/**
 * The outcome of a request to follow, by policy. A follower that asks again is accepted again, because its server must have lost the earlier
 * acceptance.
 */
const outcomes: Readonly<
  Record<ActivityPubConfig['follows'], (resolved: ResolvedActivity, agent: string, inbox: string) => Outcome>
> = {
  open: (resolved, agent, inbox) => ({
    disposition: 'answer',
    effects: [endRelation(resolved, 'pending'), relate(resolved, 'follower', inbox)],
    deliveries: [answerFollow('Accept', resolved, agent, inbox)],
  }),
  manual: (resolved, _, inbox) => ({
    disposition: 'keep',
    flags: ['follow_request'],
    effects: [relate(resolved, 'pending', inbox)],
  }),
  closed: (resolved, agent, inbox) => ({
    disposition: 'keep',
    flags: ['follow_refused'],
    deliveries: [answerFollow('Reject', resolved, agent, inbox)],
  }),
}

function relate({ proven }: ResolvedActivity, relation: 'follower' | 'pending', inbox: string): RelationEffect {
  const { actor, activity, address } = proven
  const { sharedInbox } = actor
  const target: Json = { inbox, follow: activity.id, ...(sharedInbox && { sharedInbox }), ...(address && { address }) }
  return { kind: 'relate', relation, peer: actor.id, target }
}

export function endRelation({ proven: { actor } }: ResolvedActivity, relation: 'follower' | 'pending'): RelationEffect {
  return { kind: 'unrelate', relation, peer: actor.id }
}

function answerFollow(
  type: FollowAnswer,
  { proven: { activity, actor }, gateway }: ResolvedActivity,
  agent: string,
  inbox: string,
): PlannedDelivery {
  return composeFollowAnswer(type, { origin: gateway.agents.origin, agent, peer: actor.id, follow: activity.id, inbox })
}
