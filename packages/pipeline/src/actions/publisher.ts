// Performs the actions of an agent outside its answers: all of them, or none.
import type { ActRefusal, AgentAction, Log, RefusedAct } from '@postern/message'
import { agentActionSchema, isoTime, makeId, parseGiven, Rejection, randomHex, refuseAct } from '@postern/message'
import type { AgentPublisher } from '../ports/agent/agent-publisher.ts'
import { findChannel } from '../ports/channel/channel.ts'
import type { IntakeStore } from '../ports/store/intake-store.ts'
import type { WorkStore } from '../ports/store/work-store.ts'
import type { ActingAgents, ActionDeps } from '../ports/turn/action-deps.ts'
import { planActions, toParts } from './plan-actions.ts'

export interface PublisherDeps extends ActionDeps {
  readonly store: ActionDeps['store'] & Pick<WorkStore, 'act'> & Pick<IntakeStore, 'refuse'>
}

/** Performs the actions if all of them are possible. Otherwise performs none, and returns the first impossible one. */
async function tryActions(
  acts: readonly AgentAction[],
  acting: ActingAgents,
  gateway: PublisherDeps,
): Promise<RefusedAct | undefined> {
  const refused: RefusedAct[] = []
  const onRefused = (each: RefusedAct) => {
    refused.push(each)
    gateway.onRefused?.(each)
  }
  const planned = await planActions(acts, acting, { ...gateway, onRefused })
  if (planned.length < acts.length) return refused[0]
  await gateway.store.act(planned, randomHex(gateway.system, 8))
  return undefined
}

/**
 * Performs an agent's own actions: all of them, or none. They are durable when the promise resolves.
 * @throws Rejection if one of them is impossible, for example because its id is unknown or it may reach nobody
 */
export async function performActions(
  acts: readonly AgentAction[],
  acting: ActingAgents,
  gateway: PublisherDeps,
): Promise<void> {
  const refused = await tryActions(acts, acting, gateway)
  if (refused) throw new Rejection(refused.code, refused.message)
}

interface PublisherOptions {
  readonly acting: ActingAgents
  readonly gateway: PublisherDeps
  readonly signal: AbortSignal
  readonly log: Log
}

/** Creates the publisher with which an agent acts unasked. Impossible actions appear in the operator's list of refusals. */
export function createPublisher({ acting, gateway, signal, log }: PublisherOptions): AgentPublisher {
  async function perform(given: AgentAction, id?: string): Promise<ActRefusal | undefined> {
    const act = parseGiven(agentActionSchema, given, 'the act')
    const onRefused = (refused: RefusedAct) => listRefused(refused, { acting, gateway, id })
    const refused = await tryActions([act], acting, { ...gateway, onRefused })
    return refused && refuseAct(refused.code, refused.message, refused.key)
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

interface Listing extends Pick<PublisherOptions, 'acting' | 'gateway'> {
  /** The id of the post, answer or message that the action concerns. */
  readonly id: string | undefined
}

/** Adds a refused action to the operator's list of refusals, because no turn has a record for it. */
function listRefused({ act, via, code, message }: RefusedAct, { acting, gateway, id }: Listing): void {
  const { store, system, channels } = gateway
  const channel = (via !== undefined && findChannel(channels, via)) || channels[0]
  store.refuse({
    at: isoTime(system.now()),
    via: channel?.descriptor.name ?? 'gateway',
    from: acting.address,
    code,
    reason: message,
    endpoint: `act: ${act}`,
    claimed_sender: acting.address,
    agent: acting.agent,
    peer_id: id,
  })
}
