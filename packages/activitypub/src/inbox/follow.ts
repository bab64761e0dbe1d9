import type { Intake, Json, PlannedDelivery, RelationEffect } from '@postern/core'
import type { ActivityPubConfig } from '../config.ts'
import { asObject, idOf } from '../reading.ts'
import type { ActivityKind, HeardActivity } from './activity-kind.ts'
import type { FollowAnswer } from './follow-answer.ts'
import { composeFollowAnswer } from './follow-answer.ts'
import { inThreadWith, targetActor, tellEvent, toIntake } from './intake.ts'
import { findAgentName } from './own-post.ts'

type FollowPolicy = ActivityPubConfig['follows']
type Outcome = Pick<Intake, 'disposition' | 'effects' | 'deliveries' | 'flags'>

/** Somebody wants to be told what an agent posts to all. Whoever has blocked the agent has to lift that first. */
export const follow: ActivityKind = {
  async find({ activity, actor }, { agents, desk, foreignInboxes }) {
    const agent = findAgentName(idOf(activity.json.object) ?? '', agents)
    if (!agent || !actor.inbox) return undefined
    const key = { via: 'activitypub', agent, peer: actor.id } as const
    if (await desk.findRelation({ ...key, relation: 'blocked_by' })) return undefined
    const following = await desk.findRelation({ ...key, relation: 'follower' })
    if (asObject(following?.target)?.inbox !== actor.inbox) foreignInboxes.admitFollower(actor)
    return { agents: [agent], isFollowing: following !== undefined }
  },
  read(heard) {
    const [agent = ''] = heard.agents
    const inbox = heard.named.actor.inbox ?? ''
    const outcomeOf = outcomes[heard.isFollowing ? 'open' : heard.house.follows]
    return [
      toIntake(heard, {
        agent,
        kind: 'follow',
        parts: tellEvent('Follows you'),
        ...inThreadWith(heard),
        object: heard.named.activity.id,
        target: { ...targetActor(heard), event: 'Follow' },
        ...outcomeOf(heard, agent, inbox),
      }),
    ]
  },
}

/** What becomes of a request to follow, by policy. Whoever follows already is accepted again: his server has forgotten it. */
const outcomes: Readonly<Record<FollowPolicy, (heard: HeardActivity, agent: string, inbox: string) => Outcome>> = {
  open: (heard, agent, inbox) => ({
    disposition: 'answer',
    effects: [endRelation(heard, 'pending'), relate(heard, 'follower', inbox)],
    deliveries: [answerFollow('Accept', heard, agent, inbox)],
  }),
  manual: (heard, _, inbox) => ({
    disposition: 'keep',
    flags: ['follow_request'],
    effects: [relate(heard, 'pending', inbox)],
  }),
  closed: (heard, agent, inbox) => ({
    disposition: 'keep',
    flags: ['follow_refused'],
    deliveries: [answerFollow('Reject', heard, agent, inbox)],
  }),
}

function relate({ named }: HeardActivity, relation: 'follower' | 'pending', inbox: string): RelationEffect {
  const { actor, activity, address } = named
  const { sharedInbox } = actor
  const target: Json = { inbox, follow: activity.id, ...(sharedInbox && { sharedInbox }), ...(address && { address }) }
  return { kind: 'relate', relation, peer: actor.id, target }
}

export function endRelation({ named: { actor } }: HeardActivity, relation: 'follower' | 'pending'): RelationEffect {
  return { kind: 'unrelate', relation, peer: actor.id }
}

function answerFollow(
  type: FollowAnswer,
  { named: { activity, actor }, house }: HeardActivity,
  agent: string,
  inbox: string,
): PlannedDelivery {
  return composeFollowAnswer(type, { origin: house.agents.origin, agent, peer: actor.id, follow: activity.id, inbox })
}
