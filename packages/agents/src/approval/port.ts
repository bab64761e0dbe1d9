// Declares the approval of tool calls, and describes a waiting call to the person who decides.
import type { ApprovalAction, Json, NormalizedMessage, PartialResponse, Policy } from '@postern/message'
import { isJsonObject, readApproval, withoutTurning, writeVisibleJson } from '@postern/message'
import type { ApprovalCall, RequirementRecord } from '@postern/pipeline'
import type { PendingAction, RecordStore } from '@postern/transcript'
import { pendingActionSchema } from '@postern/transcript'
import type { ToolRule } from '../config/tool-policies.ts'
import { toolRuleSchema } from '../config/tool-policies.ts'
import { findRuleFault, findStoredRule } from '../tools/tool-rules.ts'
import type { MatchingRule, Tool, ToolContext, ToolOutcome, ToolTurnContext } from '../tools/tools.ts'
import { createArgumentCheck, toToolResult } from '../tools/tools.ts'

/** A call that needs approval. */
export interface WaitingCall {
  readonly id: string
  readonly name: string
  readonly args?: unknown
  /** The tool's description of the call, for the person who decides. */
  readonly preview?: unknown
  /** The agent that makes the call; absent unless several agents share the address. */
  readonly agent?: string | undefined
  /** The schema of `args`. An operator may change the arguments as long as they match it. */
  readonly schema?: { readonly [keyword: string]: unknown } | undefined
  /** All rules of the tool. They also apply to changed arguments. */
  readonly rules?: readonly ToolRule[] | undefined
  readonly rule?: CallRule | undefined
}

export type CallRule = Pick<MatchingRule, 'approve' | 'remember' | 'remember_days'> &
  Partial<Pick<MatchingRule, 'notify' | 'expires_after_hours' | 'calls'>>

/** The decision on a call. */
interface CallDecision {
  readonly action: PendingAction
  readonly isGranted: boolean
  readonly resolver: string
  /** The changed arguments; absent if they are unchanged. */
  readonly edited?: Json | undefined
}

/** A call that a message decides. */
export interface DecidedCall extends CallDecision {
  readonly shownAction: ApprovalAction
  /** The public id of the requirement. */
  readonly requirement: string
  /** True if an operator decided, and false if the person in the conversation did. */
  readonly isByOperator: boolean
}

/** A call and its current outcome. */
interface CallState {
  readonly action: PendingAction
  readonly outcome: ToolOutcome
}

/** The calls of one agent's tools that wait for approval. Each is stored before anybody is asked. */
export interface Approvals {
  /** Returns the answer that asks for approval and ends the turn. */
  ask(call: WaitingCall, context: CallContext & Pick<ToolContext, 'requireConsent'>): Promise<PartialResponse>
  /** Finds an earlier decision of this person that covers the call; undefined if somebody must decide. */
  findRemembered(call: WaitingCall, context: CallContext): Promise<CallDecision | undefined>
  /** Finds the call that a message decides; undefined if the message decides none. */
  findDecided(message: Pick<NormalizedMessage, 'policy_resolution'>): Promise<DecidedCall | undefined>
  /**
   * Returns the result of a decided call. It calls `run` only for a granted call, and at most once even if the turn is retried, because the start
   * is stored first. If a turn dies during the run, the call is not repeated.
   */
  settle(ruledCall: CallDecision, run: (args: Json) => Promise<ToolOutcome>): Promise<ToolOutcome>
  /** Describes the state of a call for a model that continues without a decision. */
  describe(policy: Policy): Promise<CallState | undefined>
}

/** The turn in which a call is made, and the person for whom it is made. */
export type CallContext = Pick<
  ToolContext,
  'message' | 'flags' | 'thread' | 'messageNumber' | 'correlationId' | 'signal'
>

/** The maximum length of the arguments that are shown, characters. */
const maxPreviewChars = 1_500

/** Describes a call to the person who decides: by the tool's own preview, or by its name and all arguments. */
export function describeCall(
  name: string,
  args: unknown,
  preview: unknown,
): { readonly summary: string; readonly shownArgs: Json } {
  const previewArgs = (preview === undefined ? (args ?? null) : preview) as Json
  if (typeof preview === 'string' && preview.trim() !== '') {
    return { summary: clipPreview(withoutTurning(preview)), shownArgs: previewArgs }
  }
  return { summary: `May I run "${name}" with ${clipPreview(writeVisibleJson(previewArgs))}?`, shownArgs: previewArgs }
}

/** Clips a text to the maximum length, and says in the text that it is clipped. */
function clipPreview(text: string): string {
  return text.length > maxPreviewChars ? `${text.slice(0, maxPreviewChars).toWellFormed()} … (not shown whole)` : text
}

/** Reads the tool's preview of a call; undefined if the tool has none or it fails. */
export async function readPreview(tool: Tool, args: unknown, context: ToolTurnContext): Promise<unknown> {
  try {
    const preview = await tool.preview?.(args, context)
    return preview === undefined ? undefined : toToolResult(preview)
  } catch (error) {
    context.log.warn({ tool: tool.name, err: error }, 'a tool could not describe its call')
    return undefined
  }
}

/** Creates a function that finds the complete call of a requirement in the record store, for the person who decides. */
export function createCallFinder(
  records: Pick<RecordStore, 'get'>,
): (requirement: Pick<RequirementRecord, 'agent' | 'policy'>) => Promise<ApprovalCall | undefined> {
  return async ({ agent, policy }) => {
    const approval = readApproval(policy)
    if (!approval) return undefined
    const recordKey = { kind: 'pending-action', owner: `agent:${agent}`, key: approval.action_id }
    const action = pendingActionSchema.safeParse((await records.get(recordKey))?.value).data
    if (!action) return undefined
    const schema = readSchema(action)
    return {
      id: approval.tool_call_id,
      tool: action.kind,
      ...(approval.agent !== undefined && { agent: approval.agent }),
      summary: action.summary,
      args: action.apply_input.args ?? {},
      ...(schema && { schema }),
      // The agent checks again before the run, by the tool's schema at that time.
      findFault: args => (schema ? findChangeFault(args, schema, action) : 'they cannot be changed'),
    }
  }
}

/**
 * Finds the reason why changed arguments must not run. The rules apply to the new arguments, too, so that an operator allows only what an
 * operator may allow.
 */
function findChangeFault(
  args: unknown,
  schema: NonNullable<ApprovalCall['schema']>,
  { metadata: { rules } }: PendingAction,
): string | undefined {
  const storedRules = toolRuleSchema.array().parse(rules ?? [])
  return createArgumentCheck(schema)(args) ?? findRuleFault(findStoredRule(storedRules, args), 'operator')
}

function readSchema({ metadata: { schema } }: PendingAction): ApprovalCall['schema'] {
  return isJsonObject(schema) ? (schema as ApprovalCall['schema']) : undefined
}
