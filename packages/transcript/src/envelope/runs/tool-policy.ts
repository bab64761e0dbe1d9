// Runs a tool call by its policy, which is at once, after approval, or never.
import type { Json } from '@postern/message'
import type { JsonMap } from '../../json/difference.ts'
import { hashContent, isJsonMap } from '../../json/difference.ts'
import type { RecordStore } from '../../store/record-store.ts'
import { buildApprovalEnvelope, buildToolResultEnvelope } from '../build.ts'
import type { AgentMessageEnvelope } from '../envelope.ts'
import type { PendingAction, PendingActions } from './pending-action.ts'

/** The policies of a tool: it runs at once, after an approval, or never. */
const toolPolicies = ['direct', 'preview', 'forbidden'] as const
type ToolPolicy = (typeof toolPolicies)[number]

interface ToolScope {
  readonly owner: string
  readonly workspace?: string | undefined
  readonly agent: string
  readonly tool_name: string
}

interface PolicyMemory {
  /** Finds the remembered policy for this owner, workspace, agent and tool; returns `otherwise` if there is none. */
  find(scope: ToolScope, defaultPolicy: ToolPolicy): Promise<ToolPolicy>
  remember(scope: ToolScope, policy: ToolPolicy): Promise<void>
}

export function createPolicyMemory(records: RecordStore): PolicyMemory {
  const keyOf = ({ owner, workspace = '', agent, tool_name }: ToolScope) => {
    return { kind: 'tool-policy', owner, key: JSON.stringify([workspace, agent, tool_name]) }
  }
  return {
    async find(scope, defaultPolicy) {
      const value = (await records.get(keyOf(scope)))?.value
      return toolPolicies.find(policy => policy === value) ?? defaultPolicy
    },
    async remember(scope, policy) {
      await records.put(keyOf(scope), policy)
    },
  }
}

export interface RequestedCall extends ToolScope {
  readonly tool_call_id: string
  readonly parameters: { readonly [name: string]: Json }
  readonly turn: number
  /** The effect of the tool, in words and as data, for the person who decides. */
  readonly summary: string
  readonly preview?: Json | undefined
  readonly expires_at?: string | undefined
}

interface PolicyOutcome {
  /** The envelope to append to the conversation: the tool's result, or its placeholder. */
  readonly envelope: AgentMessageEnvelope
  /** True if the loop stops before its run is complete. */
  readonly isWaiting: boolean
}

/** Runs a call as its policy allows. A call that needs approval is stored first, so that an approval always finds it. */
export async function callUnderPolicy(
  call: RequestedCall,
  policy: ToolPolicy,
  deps: { readonly actions: PendingActions; run(parameters: RequestedCall['parameters']): Promise<Json> },
): Promise<PolicyOutcome> {
  if (policy === 'forbidden') return { envelope: buildRefusal(call, 'the tool is forbidden'), isWaiting: false }
  if (policy === 'direct') return { envelope: await runDirectly(call, deps), isWaiting: false }
  const {
    owner,
    workspace,
    agent,
    tool_name,
    parameters,
    summary,
    preview = null,
    expires_at,
    tool_call_id,
    turn,
  } = call
  const action = await deps.actions.create(owner, {
    kind: tool_name,
    summary,
    preview,
    apply_input: { ...parameters },
    agent,
    metadata: { tool_call_id, turn },
    ...(workspace !== undefined && { workspace }),
    ...(expires_at !== undefined && { expires_at }),
  })
  return { envelope: buildApprovalEnvelope(summary, action, { tool_call_id }), isWaiting: true }
}

/** Builds the tool's result after the decision on a pending action. It is the result of the run, or the refusal. */
export function buildDecisionEnvelope(action: PendingAction): AgentMessageEnvelope {
  const { kind: tool_name, status, metadata } = action
  const call = { tool_name, tool_call_id: String(metadata.tool_call_id ?? action.action_id) }
  const envelope = buildOutcome(call, action)
  return { ...envelope, metadata: { ...envelope.metadata, action_id: action.action_id, action_status: status } }
}

type CallName = Pick<RequestedCall, 'tool_name' | 'tool_call_id'>

function buildOutcome(
  call: CallName,
  { status, resolution_result, resolution_error }: PendingAction,
): AgentMessageEnvelope {
  if (status !== 'accepted') return buildRefusal(call, `the action was ${status}`)
  return resolution_error === undefined ? buildResult(call, resolution_result) : buildRefusal(call, resolution_error)
}

async function runDirectly(
  call: RequestedCall,
  { run }: { run(parameters: JsonMap): Promise<Json> },
): Promise<AgentMessageEnvelope> {
  try {
    return buildResult(call, await run(call.parameters))
  } catch {
    return buildRefusal(call, 'the tool failed')
  }
}

function buildResult(call: CallName, result: Json): AgentMessageEnvelope {
  const content = typeof result === 'string' ? result : JSON.stringify(result)
  return buildEnd(call, content, { success: true, tool_data: result })
}

function buildRefusal(call: CallName, error: string): AgentMessageEnvelope {
  return buildEnd(call, error, { success: false, error })
}

function buildEnd({ tool_name, tool_call_id }: CallName, content: string, payload: JsonMap): AgentMessageEnvelope {
  return buildToolResultEnvelope({ content, tool_name, payload, metadata: { tool_call_id } })
}

export interface ExecutedTool {
  readonly tool_name: string
  readonly tool_call_id: string
  readonly parameters: JsonMap
  readonly result: Json
  readonly turn_count: number
  readonly success: boolean
}

/** Describes a call for observers by the names and number of its arguments, without their values. */
export function observeTool({ tool_name, parameters, result }: ExecutedTool) {
  const argument_names = Object.keys(parameters).toSorted()
  return { tool_name, argument_names, argument_count: argument_names.length, result_type: nameType(result) }
}

/** Returns the digests of a call and of its result. */
export function auditTool({ tool_name, tool_call_id, parameters, result, turn_count, success }: ExecutedTool) {
  return {
    type: 'tool_execution',
    tool_name,
    tool_call_id,
    parameters_sha256: hashContent(parameters),
    result_sha256: hashContent(result),
    schema_version: 1,
    turn_count,
    success,
  } as const
}

function nameType(value: Json): string {
  if (value === null) return 'null'
  if (isJsonMap(value)) return 'object'
  return Array.isArray(value) ? 'array' : typeof value
}
