// Handles `Follow`, and accepts, stores or rejects the request by the configured policy.
import type { Json } from '@postern/message'
import type { Intake, PlannedDelivery, RelationEffect } from '@postern/pipeline'
import type { FollowAnswer } from '../../actors/follow-requests.ts'
import { composeFollowAnswer } from '../../actors/follow-requests.ts'
import type { ActivityPubConfig } from '../../config.ts'
import { asObject, idOf } from '../../format/json-object.ts'
import { findAgentName } from '../../format/own-iris.ts'
import { createActorTarget, createEventParts, draftEvent, toIntake } from '../../normalize.ts'
import type { ActivityKind, ResolvedActivity } from '../activity-kind.ts'

/** The agent that is followed, and the inbox of the follower. */
interface Follower {
  readonly agent: string
  readonly inbox: string
}

type Outcome = Pick<Intake, 'disposition' | 'effects' | 'deliveries' | 'flags'>

/** Handles a request to receive everything that an agent posts publicly. A peer that blocks the agent has to lift the block first. */
export const follow: ActivityKind = {
  async find({ activity, actor }, { agents, store, foreignInboxes }) {
    const agent = findAgentName(idOf(activity.json.object) ?? '', agents)
    if (!agent || !actor.inbox) return undefined
    const key = { via: 'activitypub', agent, peer: actor.id } as const
    if (await store.findRelation({ ...key, relation: 'blocked_by' })) return undefined
    const existingFollow = await store.findRelation({ ...key, relation: 'follower' })
    if (asObject(existingFollow?.target)?.inbox !== actor.inbox) foreignInboxes.countFollower(actor)
    return { agents: [agent], isFollowing: existingFollow !== undefined }
  },
  toIntakes(resolved) {
    const [agent = ''] = resolved.agents
    const inbox = resolved.proven.actor.inbox ?? ''
    const planOutcome = outcomePlans[resolved.isFollowing ? 'open' : resolved.gateway.follows]
    return [
      toIntake(resolved, {
        ...draftEvent(resolved, agent),
        kind: 'follow',
        parts: createEventParts('Follows you'),
        target: { ...createActorTarget(resolved), event: 'Follow' },
        ...planOutcome(resolved, { agent, inbox }),
      }),
    ]
  },
}

/**
 * The plan for the outcome of a request to follow, by policy. A follower that asks again is accepted again, because its server must have lost the earlier
 * acceptance.
 */
const outcomePlans: Readonly<
  Record<ActivityPubConfig['follows'], (resolved: ResolvedActivity, follower: Follower) => Outcome>
> = {
  open: (resolved, follower) => ({
    disposition: 'answer',
    effects: [planRelationEnd(resolved, 'pending'), planRelation(resolved, 'follower', follower.inbox)],
    deliveries: [answerFollow('Accept', resolved, follower)],
  }),
  manual: (resolved, { inbox }) => ({
    disposition: 'keep',
    flags: ['follow_request'],
    effects: [planRelation(resolved, 'pending', inbox)],
  }),
  closed: (resolved, follower) => ({
    disposition: 'keep',
    flags: ['follow_refused'],
    deliveries: [answerFollow('Reject', resolved, follower)],
  }),
}

function planRelation({ proven }: ResolvedActivity, relation: 'follower' | 'pending', inbox: string): RelationEffect {
  const { actor, activity, address } = proven
  const { sharedInbox } = actor
  const target: Json = { inbox, follow: activity.id, ...(sharedInbox && { sharedInbox }), ...(address && { address }) }
  return { kind: 'relate', relation, peer: actor.id, target }
}

export function planRelationEnd(
  { proven: { actor } }: ResolvedActivity,
  relation: 'follower' | 'pending',
): RelationEffect {
  return { kind: 'unrelate', relation, peer: actor.id }
}

function answerFollow(
  type: FollowAnswer,
  { proven: { activity, actor }, gateway }: ResolvedActivity,
  { agent, inbox }: Follower,
): PlannedDelivery {
  return composeFollowAnswer(type, {
    origin: gateway.agents.origin,
    agent,
    peer: actor.id,
    followIri: activity.id,
    inbox,
  })
}
