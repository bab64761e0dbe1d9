import type {
  ApprovalAction,
  ApprovalCall,
  Json,
  NormalizedMessage,
  PartialResponse,
  Policy,
  RequirementRecord,
} from '@postern/core'
import { isJsonObject, readApproval, withoutTurning, writeVisibleJson } from '@postern/core'
import type { PendingAction, RecordStore } from '@postern/transcript'
import { pendingActionSchema } from '@postern/transcript'
import type { ToolRule } from '../config/approval.ts'
import type { Tool, ToolContext, ToolOutcome } from '../tools/tools.ts'
import { createArgumentCheck, toToolResult } from '../tools/tools.ts'

/** A call that needs approval. */
export interface WaitingCall {
  readonly id: string
  readonly name: string
  readonly args?: unknown
  /** The tool's description of the call, for whoever decides. */
  readonly preview?: unknown
  /** The agent that makes it, if several share the address. */
  readonly agent?: string | undefined
  /** The schema of `args`. An operator may change them within it. */
  readonly schema?: { readonly [keyword: string]: unknown } | undefined
  readonly rule?: CallRule | undefined
}

export type CallRule = Pick<ToolRule, 'approve' | 'remember' | 'remember_days'> &
  Partial<Pick<ToolRule, 'notify' | 'expires_after_hours'>>

/** The decision on a call. */
interface RuledCall {
  readonly action: PendingAction
  readonly isGranted: boolean
  readonly resolver: string
  /** The changed arguments. */
  readonly edited?: Json | undefined
}

/** A call that a message decides. */
export interface DecidedCall extends RuledCall {
  readonly shown: ApprovalAction
  /** Public id of the requirement. */
  readonly requirement: string
  /** The operator decided, not the person in the conversation. */
  readonly isOfOperator: boolean
}

/** A call as it stands. */
interface AskedCall {
  readonly action: PendingAction
  readonly outcome: ToolOutcome
}

/** Calls of one agent's tools that wait for approval. They are stored before anybody is asked. */
export interface Approvals {
  /** The answer that asks for approval. It ends the turn. */
  ask(call: WaitingCall, context: CallPlace & Pick<ToolContext, 'requireConsent'>): Promise<PartialResponse>
  /** An earlier decision of this person for such calls; undefined: somebody must decide. */
  findRemembered(call: WaitingCall, context: CallPlace): Promise<RuledCall | undefined>
  /** The call that a message decides; undefined for other messages. */
  findDecided(message: Pick<NormalizedMessage, 'policy_resolution'>): Promise<DecidedCall | undefined>
  /**
   * The result of a decided call. `run` is called only for a granted call, and at most once however often the turn is tried, because its
   * beginning is stored before. A turn that dies during the run does not repeat it.
   */
  settle(ruled: RuledCall, run: (args: Json) => Promise<ToolOutcome>): Promise<ToolOutcome>
  /** The state of a call for a model that continues without a decision. */
  describe(policy: Policy): Promise<AskedCall | undefined>
}

/** Where a call is made, and for whom. */
export type CallPlace = Pick<ToolContext, 'message' | 'flags' | 'thread' | 'messageNumber' | 'correlationId' | 'signal'>

/** Characters of arguments that are shown in full. */
const maxShown = 1_500

/** The question for whoever decides: the tool's own text, or its name and all arguments. */
export function describeCall(
  name: string,
  args: unknown,
  preview: unknown,
): { readonly summary: string; readonly shownArgs: Json } {
  const shownArgs = (preview === undefined ? (args ?? null) : preview) as Json
  if (typeof preview === 'string' && preview.trim() !== '') {
    return { summary: clipShown(withoutTurning(preview)), shownArgs }
  }
  return { summary: `May I run "${name}" with ${clipShown(writeVisibleJson(shownArgs))}?`, shownArgs }
}

/** Says that more arguments follow. */
function clipShown(text: string): string {
  return text.length > maxShown ? `${text.slice(0, maxShown).toWellFormed()} … (not shown whole)` : text
}

/** The tool's description of a call; undefined when it has none or fails. */
export async function readPreview(tool: Tool, args: unknown, context: ToolContext): Promise<unknown> {
  try {
    const preview = await tool.preview?.(args, context)
    return preview === undefined ? undefined : toToolResult(preview)
  } catch (error) {
    context.log.warn({ tool: tool.name, err: error }, 'a tool could not say what it would do')
    return undefined
  }
}

/** The complete call of a requirement, from the record store, for whoever decides. */
export function createCallFinder(
  records: Pick<RecordStore, 'get'>,
): (requirement: Pick<RequirementRecord, 'agent' | 'policy'>) => Promise<ApprovalCall | undefined> {
  return async ({ agent, policy }) => {
    const shown = readApproval(policy)
    if (!shown) return undefined
    const place = { kind: 'pending-action', owner: `agent:${agent}`, key: shown.action_id }
    const action = pendingActionSchema.safeParse((await records.get(place))?.value).data
    if (!action) return undefined
    const schema = readSchema(action)
    return {
      id: shown.tool_call_id,
      tool: action.kind,
      ...(shown.agent !== undefined && { agent: shown.agent }),
      summary: action.summary,
      args: action.apply_input.args ?? {},
      ...(schema && { schema }),
      // The agent checks again before the run, by the tool's schema at that time.
      findFault: args => (schema ? createArgumentCheck(schema)(args) : 'they cannot be changed'),
    }
  }
}

function readSchema({ metadata: { schema } }: PendingAction): ApprovalCall['schema'] {
  return isJsonObject(schema) ? (schema as ApprovalCall['schema']) : undefined
}
