// Handles `Block`, by which a peer blocks an agent.
import { idOf } from '../../format/json-object.ts'
import { findAgentName } from '../../format/own-iris.ts'
import { createActorTarget, createEventParts, createHiddenIntakes } from '../../normalize.ts'
import type { ActivityKind } from '../activity-kind.ts'
import { planRelationEnd } from './follow.ts'

/** Handles a block. The gateway sends nothing more from the agent to that peer. The block is shown to the operator and not to the agent. */
export const block: ActivityKind = {
  async find({ activity }, { agents }) {
    const agent = findAgentName(idOf(activity.json.object) ?? '', agents)
    return agent ? { agents: [agent] } : undefined
  },
  toIntakes: resolved =>
    createHiddenIntakes(resolved, () => ({
      kind: 'unfollow',
      parts: createEventParts('Blocks you'),
      target: { ...createActorTarget(resolved), event: 'Block' },
      flags: ['blocked_by'],
      effects: [
        planRelationEnd(resolved, 'follower'),
        planRelationEnd(resolved, 'pending'),
        { kind: 'relate', relation: 'blocked_by', peer: resolved.proven.actor.id, target: null },
      ],
    })),
}
