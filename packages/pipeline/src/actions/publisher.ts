// Performs actions that an agent takes without being asked, all of them or none.
import type { ActRefusal, AgentAction, Log, RefusedAct } from '@postern/message'
import { agentActionSchema, isoTime, makeId, parseInput, Rejection, randomHex, refuseAct } from '@postern/message'
import type { AgentPublisher } from '../ports/agent/agent-publisher.ts'
import { findChannel } from '../ports/channel/channel.ts'
import type { IntakeStore } from '../ports/store/intake-store.ts'
import type { WorkStore } from '../ports/store/work-store.ts'
import type { ActingAgent, ActionDeps } from '../ports/turn/action-deps.ts'
import { planActions, toParts } from './plan-actions.ts'

export interface PublisherDeps extends ActionDeps {
  readonly store: ActionDeps['store'] & Pick<WorkStore, 'storeActions'> & Pick<IntakeStore, 'refuse'>
}

/** Performs the actions if all of them are possible. Otherwise performs none, and returns the first impossible one. */
async function tryActions(
  actions: readonly AgentAction[],
  actingAgent: ActingAgent,
  deps: PublisherDeps,
): Promise<RefusedAct | undefined> {
  const refusedActs: RefusedAct[] = []
  const onRefused = (refusedAct: RefusedAct) => {
    refusedActs.push(refusedAct)
    deps.onRefused?.(refusedAct)
  }
  const plannedActions = await planActions(actions, actingAgent, { ...deps, onRefused })
  if (plannedActions.length < actions.length) return refusedActs[0]
  await deps.store.storeActions(plannedActions, randomHex(deps.system, 8))
  return undefined
}

/**
 * Performs an agent's own actions: all of them, or none. They are durable when the promise resolves.
 * @throws Rejection if one of them is impossible, for example because its id is unknown or it may reach nobody
 */
export async function performActions(
  actions: readonly AgentAction[],
  actingAgent: ActingAgent,
  deps: PublisherDeps,
): Promise<void> {
  const refusedAct = await tryActions(actions, actingAgent, deps)
  if (refusedAct) throw new Rejection(refusedAct.code, refusedAct.message)
}

interface PublisherOptions {
  readonly actingAgent: ActingAgent
  readonly gateway: PublisherDeps
  readonly signal: AbortSignal
  readonly log: Log
}

/** Creates the publisher with which an agent acts unasked. Impossible actions appear in the operator's list of refusals. */
export function createPublisher({ actingAgent, gateway, signal, log }: PublisherOptions): AgentPublisher {
  async function perform(action: AgentAction, id?: string): Promise<ActRefusal | undefined> {
    const act = parseInput(agentActionSchema, action, 'the act')
    const onRefused = (refusedAct: RefusedAct) => recordRefusedAct(refusedAct, { actingAgent, gateway, id })
    const refusedAct = await tryActions([act], actingAgent, { ...gateway, onRefused })
    return refusedAct && refuseAct(refusedAct.code, refusedAct.message, refusedAct.key)
  }
  return {
    signal,
    log,
    async post(content, options) {
      const id = makeId(gateway.system)
      return (await perform({ ...options, act: 'post', id, parts: toParts(content) }, id)) ?? id
    },
    async reply(thread, content) {
      const id = makeId(gateway.system)
      return (await perform({ act: 'reply', id, thread, parts: toParts(content) }, id)) ?? id
    },
    edit: (response, content) => perform({ act: 'edit', response, parts: toParts(content) }, response),
    delete: response => perform({ act: 'delete', response }, response),
    react: (reaction, message) => perform({ act: reaction, message }, message),
  }
}

interface RefusedActOptions extends Pick<PublisherOptions, 'actingAgent' | 'gateway'> {
  /** The id of the post, answer or message that the action concerns. */
  readonly id: string | undefined
}

/** Adds a refused action to the operator's list of refusals, because no turn has a record for it. */
function recordRefusedAct(
  { act, via, code, message }: RefusedAct,
  { actingAgent, gateway, id }: RefusedActOptions,
): void {
  const { store, system, channels } = gateway
  const channel = (via !== undefined && findChannel(channels, via)) || channels[0]
  store.refuse({
    at: isoTime(system.now()),
    via: channel?.descriptor.name ?? 'gateway',
    from: actingAgent.address,
    code,
    reason: message,
    endpoint: `act: ${act}`,
    claimed_sender: actingAgent.address,
    agent: actingAgent.agent,
    peer_id: id,
  })
}
