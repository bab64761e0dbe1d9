// Builds the specification of a swarm for one turn from its configured members.

import { parseDuration } from '@postern/message'
import type { HumanOperators } from '@postern/pipeline'
import type { AgentSpec, ComputeSpec, SwarmPolicy, SwarmSpec, TurnState } from '@postern/swarm'
import type { Toolbox } from '../../tools/tools.ts'
import type {
  ModelMember,
  OperatorMember,
  RemoteMember,
  SwarmAgentConfig,
  SwarmPolicyConfig,
} from '../config/config.ts'
import { isModelMember } from '../config/config.ts'
import type { MemberModel, ModelTurn } from './model.ts'
import { createMemberModel } from './model.ts'
import type { ToolTurn } from './tools.ts'
import { createHandBack, createHandOver, createMemberTool } from './tools.ts'

/** The model and tools of a member, which outlive a turn. */
export interface OpenedMember {
  readonly model?: MemberModel | undefined
  readonly tools: Toolbox['tools']
}

export interface SpecDeps {
  /** The agent's name. */
  readonly name: string
  readonly config: SwarmAgentConfig
  readonly openedMembers: ReadonlyMap<string, OpenedMember>
  readonly operators: HumanOperators | undefined
  readonly computes: readonly ComputeSpec[]
}

export type SpecTurn = ModelTurn & ToolTurn & { readonly turnState: TurnState }

/** Builds the specification of the swarm for one turn. */
export function buildSwarmSpec(deps: SpecDeps, turn: SpecTurn): SwarmSpec {
  const { name, config } = deps
  return {
    swarmName: name,
    defaultAgent: config.default_agent,
    agents: Object.keys(config.members).map(member => describeMember(member, deps, turn)),
    policies: Object.entries(config.policies).map(([policyName, policy]) => createPolicy(policyName, policy)),
    commonPrompts: config.prompt === '' ? [] : [config.prompt],
    throwsOnRecursion: false,
    answerChecks: config.rescue_checks,
    states: Object.entries(config.states).map(([stateName, state]) => {
      return { stateName, isShared: state.shared, getDefault: () => state.default }
    }),
    storages: Object.entries(config.storages).map(([storageName, { shared: isShared }]) => ({
      storageName,
      isShared,
    })),
    computes: deps.computes,
  }
}

function describeMember(member: string, deps: SpecDeps, turn: SpecTurn): AgentSpec {
  const settings = deps.config.members[member]
  if (!settings) throw new TypeError('a member of the swarm has settings')
  if (isModelMember(settings)) return describeModelMember(member, settings, deps, turn)
  const askMember =
    'operator' in settings ? createOperatorAsk(member, settings, deps, turn) : createRemoteAsk(member, settings, turn)
  return {
    agentName: member,
    prompt: '',
    model: { complete: async () => ({ content: '' }) },
    operator: { ask: askMember },
    operatorTimeoutMs: parseDuration(settings.timeout),
  }
}

function describeModelMember(member: string, settings: ModelMember, deps: SpecDeps, turn: SpecTurn): AgentSpec {
  const { model, tools = new Map() } = deps.openedMembers.get(member) ?? {}
  if (!model) throw new TypeError('a member with a prompt has a model')
  const { members } = deps.config
  return {
    agentName: member,
    prompt: settings.prompt,
    model: createMemberModel(model, turn),
    tools: [
      ...[...tools.values()].map(tool => createMemberTool(tool, turn)),
      ...listHandOvers(settings, deps, turn).map(to => createHandOver(to, members[to]?.description, turn)),
      ...(settings.navigates_back ? [createHandBack(turn)] : []),
    ],
    keepMessages: settings.keep,
    maxToolCalls: settings.max_tool_calls,
    rescue: settings.rescue,
  }
}

/** Lists the members that this member may hand over to. On the final hop of a chain, remote agents are left out, because they must not be called. */
function listHandOvers({ navigates_to }: ModelMember, { config }: SpecDeps, { received }: SpecTurn): readonly string[] {
  const isFinal = received.message.recipient_capabilities.agent_chain?.is_final === true
  const isRemote = (to: string) => 'address' in (config.members[to] ?? {})
  return isFinal ? navigates_to.filter(to => !isRemote(to)) : navigates_to
}

type AskFunction = NonNullable<AgentSpec['operator']>['ask']

function createOperatorAsk(
  member: string,
  { mail }: OperatorMember,
  { name, operators }: SpecDeps,
  { context }: SpecTurn,
): AskFunction {
  return async ({ message, signal }) => {
    if (!operators) return new Promise<string>(() => {})
    const { message: receivedMessage, correlationId } = context
    const from = receivedMessage.sender.address
    return operators.ask({ agent: name, member, from, text: message, correlationId, mail, signal })
  }
}

/** Asks a remote agent. Each local thread is one context there (W-24). The call counts towards the chain's hop limit. */
function createRemoteAsk(member: string, { address }: RemoteMember, { context, turnState }: SpecTurn): AskFunction {
  return async ({ message }) => {
    const { contextId, taskId, parts, status } = await context.call(address, message, {
      ...turnState.findRemote(member),
      agentKey: member,
    })
    const isOpen = status === 'input_required' || status === 'auth_required'
    turnState.storeRemote(member, { ...(contextId && { contextId }), ...(isOpen && taskId && { taskId }) })
    return parts.map(part => (part.kind === 'text' ? part.content : '')).join('')
  }
}

function createPolicy(policyName: string, policy: SwarmPolicyConfig): SwarmPolicy {
  return {
    policyName,
    banMessage: policy.message,
    bansOnRefusal: policy.bans,
    ...(policy.refuse_input.length > 0 && { validateInput: createWordCheck(policy.refuse_input) }),
    ...(policy.refuse_output.length > 0 && { validateOutput: createWordCheck(policy.refuse_output) }),
  }
}

/** Creates a check that returns true for a text without forbidden patterns. */
export function createWordCheck(patterns: readonly string[]): (text: string) => boolean {
  const expressions = patterns.map(pattern => new RegExp(pattern, 'iu'))
  return text => !expressions.some(pattern => pattern.test(text))
}
