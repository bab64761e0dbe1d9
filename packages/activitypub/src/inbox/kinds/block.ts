// Handles `Block`, by which a peer blocks an agent.
import { idOf } from '../../format/json-object.ts'
import { findAgentName } from '../../format/own-iris.ts'
import { eventParts, keepForAgents, targetActor } from '../../normalize.ts'
import type { ActivityKind } from '../activity-kind.ts'
import { endRelation } from './follow.ts'

/** The operator sees a block. The agent sends nothing more to that peer, and does not learn of it. */
export const block: ActivityKind = {
  async find({ activity }, { agents }) {
    const agent = findAgentName(idOf(activity.json.object) ?? '', agents)
    return agent ? { agents: [agent] } : undefined
  },
  read: resolved =>
    keepForAgents(resolved, () => ({
      kind: 'unfollow',
      parts: eventParts('Blocks you'),
      target: { ...targetActor(resolved), event: 'Block' },
      flags: ['blocked_by'],
      effects: [
        endRelation(resolved, 'follower'),
        endRelation(resolved, 'pending'),
        { kind: 'relate', relation: 'blocked_by', peer: resolved.proven.actor.id, target: null },
      ],
    })),
}
