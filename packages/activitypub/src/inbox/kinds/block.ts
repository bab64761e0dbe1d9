import { idOf } from '../../format/reading.ts'
import type { ActivityKind } from '../activity-kind.ts'
import { inThreadWith, targetActor, tellEvent, toIntake } from '../intake.ts'
import { findAgentName } from '../own-post.ts'
import { endRelation } from './follow.ts'

/** Somebody wants nothing of an agent any more. The operator sees it; the agent is silent toward him and told nothing. */
export const block: ActivityKind = {
  async find({ activity }, { agents }) {
    const agent = findAgentName(idOf(activity.json.object) ?? '', agents)
    return agent ? { agents: [agent] } : undefined
  },
  read: resolved =>
    resolved.agents.map(agent =>
      toIntake(resolved, {
        agent,
        kind: 'unfollow',
        parts: tellEvent('Blocks you'),
        ...inThreadWith(resolved),
        object: resolved.named.activity.id,
        target: { ...targetActor(resolved), event: 'Block' },
        disposition: 'keep',
        flags: ['blocked_by'],
        effects: [
          endRelation(resolved, 'follower'),
          endRelation(resolved, 'pending'),
          { kind: 'relate', relation: 'blocked_by', peer: resolved.named.actor.id, target: null },
        ],
      }),
    ),
}
