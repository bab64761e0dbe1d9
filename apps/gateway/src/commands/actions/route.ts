import type { AgentDeps } from '@postern/agents'
import type { PublisherDeps } from '@postern/core'
import { makeId, performActions, Rejection } from '@postern/core'
import type { OperatorRoute } from '../../api/operation.ts'
import { handleOperation } from '../../api/operation.ts'
import { actionOperations } from './operations.ts'

export interface ActionRouteOptions {
  readonly agents: Pick<AgentDeps, 'find' | 'domain'>
  readonly acting: PublisherDeps
}

/** What an agent does of itself, on the word of whoever holds the operator token: posts, edits, deletions, reactions. */
export function createAgentActionRoutes({ agents, acting }: ActionRouteOptions): readonly OperatorRoute[] {
  return [
    handleOperation(actionOperations.perform, async ({ parameters: { agent }, body: { acts } }) => {
      if (!agents.find(agent)) throw new Rejection('no_recipient', 'Cannot act: there is no such agent')
      const named = acts.map(act => (act.act === 'post' ? { ...act, id: makeId(acting.platform) } : act))
      await performActions(named, { agent, address: `@${agent}@${agents.domain}` }, acting)
      return { done: named.map(act => ('id' in act ? { act: act.act, id: act.id } : { act: act.act })) }
    }),
  ]
}
