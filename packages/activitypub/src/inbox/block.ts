import { idOf } from '../reading.ts'
import type { ActivityKind } from './activity-kind.ts'
import { endRelation } from './follow.ts'
import { inThreadWith, targetActor, tellEvent, toIntake } from './intake.ts'
import { findAgentName } from './own-post.ts'

/** Somebody wants nothing of an agent any more. The operator sees it; the agent is silent toward him and told nothing. */
export const block: ActivityKind = {
  async find({ activity }, { agents }) {
    const agent = findAgentName(idOf(activity.json.object) ?? '', agents)
    return agent ? { agents: [agent] } : undefined
  },
  read: heard =>
    heard.agents.map(agent =>
      toIntake(heard, {
        agent,
        kind: 'unfollow',
        parts: tellEvent('Blocks you'),
        ...inThreadWith(heard),
        object: heard.named.activity.id,
        target: { ...targetActor(heard), event: 'Block' },
        disposition: 'keep',
        flags: ['blocked_by'],
        effects: [
          endRelation(heard, 'follower'),
          endRelation(heard, 'pending'),
          { kind: 'relate', relation: 'blocked_by', peer: heard.named.actor.id, target: null },
        ],
      }),
    ),
}
