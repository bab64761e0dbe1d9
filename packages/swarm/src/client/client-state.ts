// Opens the state that all users of a client share, and stores bans of clients.
import { createKeyedQueue } from '@postern/pipeline'
import type { BusEvent } from '../bus/bus.ts'
import { openSwarmHistory } from '../conversation/history.ts'
import { openNavigation } from '../conversation/navigation.ts'
import type { SwarmDeps, SwarmPolicy, SwarmSpec } from '../spec/swarm.ts'
import type { TurnDeps } from '../turn/run-turn.ts'

/** The single state of a client, which all its users share. */
export interface SwarmClientState extends Pick<TurnDeps, 'clientId' | 'history' | 'navigation' | 'calls'> {
  /** Cancels the running answer. Undefined if no answer runs. */
  answerAbort: AbortController | undefined
  /** Runs turns one after the other. A failed turn does not stop the next. */
  runInTurn<Result>(run: () => Promise<Result>): Promise<Result>
}

export async function openSwarmClientState(
  spec: SwarmSpec,
  deps: SwarmDeps,
  clientId: string,
): Promise<SwarmClientState> {
  const oneByOne = createKeyedQueue()
  return {
    clientId,
    history: await openSwarmHistory(deps, spec.swarmName, clientId),
    navigation: await openNavigation(spec, deps, clientId),
    answerAbort: undefined,
    calls: { areStopped: false },
    runInTurn: run => oneByOne(clientId, run),
  }
}

/** The clients that a policy has banned from a swarm. Bans survive restarts. */
export interface SwarmBans {
  /** Finds the refusal for a banned client. Undefined if the client is not banned. */
  findRefusal(clientId: string): Promise<string | undefined>
  /** Finds the refusal of a message, or undefined if no policy refuses it. The policy may have banned the client by then. */
  checkMessage(direction: 'input' | 'output', message: string, clientId: string): Promise<string | undefined>
  /** Bans a client. A repeated ban changes nothing and emits nothing. */
  ban(clientId: string, policyName: string): Promise<void>
  unban(clientId: string, policyName: string): Promise<void>
}

export function createSwarmBans(
  swarmName: string,
  policies: readonly SwarmPolicy[],
  { records, bus, owner, activeAgent }: Pick<SwarmDeps, 'records' | 'bus' | 'owner'> & { activeAgent(): string },
): SwarmBans {
  function emit(type: string, clientId: string, policyName: string, details: Partial<BusEvent> = {}): void {
    const context = { agentName: activeAgent(), swarmName, policyName }
    bus.emit({ type, source: 'policy-bus', clientId, context, ...details })
  }

  const recordKeyOf = (clientId: string, policyName: string) => {
    return { kind: 'swarm-ban', owner, key: JSON.stringify([swarmName, policyName, clientId]) }
  }

  async function ban(clientId: string, policyName: string): Promise<void> {
    const isNew = await records.insert(recordKeyOf(clientId, policyName), true)
    if (isNew) emit('ban-client', clientId, policyName)
  }

  async function applyPolicy(
    policy: SwarmPolicy,
    direction: 'input' | 'output',
    message: string,
    clientId: string,
  ): Promise<boolean> {
    const { policyName } = policy
    const isValid =
      (await (direction === 'input' ? policy.validateInput : policy.validateOutput)?.(message, clientId)) ?? true
    emit(`validate-${direction}`, clientId, policyName, { input: { message }, output: { isValid } })
    if (!isValid && policy.bansOnRefusal) await ban(clientId, policyName)
    return !isValid
  }

  return {
    async findRefusal(clientId) {
      for (const { policyName, banMessage } of policies) {
        if (await records.get(recordKeyOf(clientId, policyName))) return banMessage
      }
      return undefined
    },
    async checkMessage(direction, message, clientId) {
      for (const policy of policies) {
        if (await applyPolicy(policy, direction, message, clientId)) return policy.banMessage
      }
      return undefined
    },
    ban,
    async unban(clientId, policyName) {
      if (!(await records.get(recordKeyOf(clientId, policyName)))) return
      await records.remove(recordKeyOf(clientId, policyName))
      emit('unban-client', clientId, policyName)
    },
  }
}
