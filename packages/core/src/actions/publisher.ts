import { Rejection } from '../format/errors.ts'
import type { AgentAction } from '../message/agent-action.ts'
import { agentActionSchema } from '../message/agent-action.ts'
import type { AgentPublisher } from '../ports/agent/agent.ts'
import type { ActingAgents, ActionDeps } from '../ports/agent/turn-context.ts'
import type { Log } from '../ports/platform/platform.ts'
import { makeId, randomHex } from '../ports/platform/platform.ts'
import type { WorkStore } from '../ports/work-store.ts'
import { planActions, toParts } from './plan-actions.ts'

export interface PublisherDeps extends ActionDeps {
  readonly store: ActionDeps['store'] & Pick<WorkStore, 'act'>
}

/**
 * Performs an agent's own actions; durable when it resolves. All of them happen or none.
 * @throws Rejection `unsupported` when one is impossible: unknown ids, or no recipient
 */
export async function performActions(
  acts: readonly AgentAction[],
  acting: ActingAgents,
  gateway: PublisherDeps,
): Promise<void> {
  const planned = await planActions(acts, acting, gateway)
  if (planned.length < acts.length) {
    throw new Rejection('unsupported', 'Cannot act: there is no such response or message, or no channel for it')
  }
  await gateway.store.act(planned, randomHex(gateway.platform, 8))
}

interface PublisherOptions {
  readonly acting: ActingAgents
  readonly gateway: PublisherDeps
  readonly signal: AbortSignal
  readonly log: Log
}

/** An agent's access to unasked actions. */
export function createPublisher({ acting, gateway, signal, log }: PublisherOptions): AgentPublisher {
  const perform = async (act: AgentAction) => performActions([agentActionSchema.parse(act)], acting, gateway)
  return {
    signal,
    log,
    async post(content, options) {
      const id = makeId(gateway.platform)
      await perform({ ...options, act: 'post', id, parts: toParts(content) })
      return id
    },
    edit: (response, content) => perform({ act: 'edit', response, parts: toParts(content) }),
    delete: response => perform({ act: 'delete', response }),
    react: (reaction, message) => perform({ act: reaction, message }),
  }
}
