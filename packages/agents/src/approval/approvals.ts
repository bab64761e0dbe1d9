// Stores tool calls that wait for approval, asks for the decision, and runs each approved call at most once.
import type { Json, System } from '@postern/message'
import { describeApproval, isoTime, readApproval, refusedCall, refusedForGood } from '@postern/message'
import { timeoutMethod } from '@postern/pipeline'
import type { PendingAction, PendingActions, RecordStore } from '@postern/transcript'
import { createPendingActions } from '@postern/transcript'
import type { ToolRule } from '../config/tool-policies.ts'
import type { ToolOutcome } from '../tools/tools.ts'
import type { Approvals, CallRule } from './port.ts'
import { describeCall } from './port.ts'
import { createRememberedCalls, describeRememberOptions } from './remembered-calls.ts'

interface ApprovalDeps {
  /** The agent's name. */
  readonly name: string
  readonly records: RecordStore
  readonly system: Pick<System, 'now' | 'randomBytes'>
}

/** The longest time for any decision, seconds. */
const maxWaitSeconds = 30 * 24 * 3_600
/** The time for which the result of a call is stored after nobody can decide on the call any more, ms. */
const resultRetentionMs = 30 * 24 * 3_600_000

const defaultRule: CallRule = { approve: 'sender', remember: 'none', remember_days: 1 }
const interruptedCallText = 'It was begun and broken off. Whether it took effect is not known.'

interface OpenApprovals extends ApprovalDeps {
  readonly actions: PendingActions
  readonly owner: string
}

export function openApprovals(deps: ApprovalDeps): Approvals {
  const actions = createPendingActions(deps.records, deps.system)
  const approvalDeps: OpenApprovals = { ...deps, actions, owner: `agent:${deps.name}` }
  return {
    findRemembered: createRememberedCalls({ ...deps, actions, retentionMs: resultRetentionMs }),
    ask: (call, context) => askForApproval(call, context, approvalDeps),
    findDecided: message => findDecidedCall(message, approvalDeps),
    settle: (decidedCall, run) => settleCall(decidedCall, run, approvalDeps),
    describe: policy => describeState(policy, approvalDeps),
  }
}

async function askForApproval(
  { id, name: kind, args, preview, agent, schema, rules, rule = defaultRule }: Parameters<Approvals['ask']>[0],
  context: Parameters<Approvals['ask']>[1],
  { actions, owner, system }: OpenApprovals,
): ReturnType<Approvals['ask']> {
  const { requireConsent, messageNumber } = context
  const apply_input = { args: args as Json }
  const { summary, shownArgs } = describeCall(kind, args, preview)
  const { approve: approver, notify, expires_after_hours: hours } = rule
  const isForOperator = approver === 'operator'
  const expiresInSeconds = hours === undefined ? undefined : Math.max(60, Math.round(hours * 3_600))
  const expiry = expiresInSeconds === undefined ? {} : { expires_at: isoTime(system.now() + expiresInSeconds * 1_000) }
  const metadata = {
    tool_call_id: id,
    ...(isForOperator && {
      approver,
      ...(schema && { schema: schema as Json }),
      ...(rules && { rules: rules.map(renderRule) }),
    }),
  }
  const draft = { kind, summary, preview: shownArgs, apply_input, metadata, ...expiry }
  const retainUntil = system.now() + (expiresInSeconds ?? maxWaitSeconds) * 1_000 + resultRetentionMs
  const action = await actions.create(owner, draft, { message: messageNumber, expiresAt: retainUntil })
  const approvalView = {
    action_id: action.action_id,
    kind,
    summary,
    preview: shownArgs,
    arguments: Object.keys(Object(args)),
    tool_call_id: id,
    ...(agent !== undefined && { agent }),
    ...describeRememberOptions(rule, context),
  }
  const texts = { message: summary, title: `Allow ${kind}?`, action_label: 'Allow it' }
  const operatorMembers = isForOperator ? { approver, ...(notify !== undefined && { notify }) } : {}
  return requireConsent({
    ...texts,
    ...operatorMembers,
    ...describeApproval(approvalView),
    ...(expiresInSeconds !== undefined && { expires_in: expiresInSeconds }),
  })
}

/** Returns the members of a rule that apply to changed arguments. */
function renderRule({ when, policy, approve }: ToolRule): Json {
  return { ...(when && { when: when as Json }), policy, approve }
}

async function findDecidedCall(
  { policy_resolution: resolution }: Parameters<Approvals['findDecided']>[0],
  { actions, owner }: OpenApprovals,
): ReturnType<Approvals['findDecided']> {
  const approval = resolution && readApproval(resolution)
  const action = approval && (await actions.get(owner, approval.action_id))
  if (!action || !resolution) return undefined
  const { requirement = action.action_id, outcome, resolver, args } = resolution
  const resolverName = [resolver?.method, resolver?.subject].filter(Boolean).join(' ') || 'unknown'
  const editedMember = args === undefined ? {} : { edited: args as Json }
  const isByOperator = action.metadata.approver === 'operator'
  return {
    action,
    shownAction: approval,
    requirement,
    isGranted: outcome === 'granted',
    resolver: resolverName,
    isByOperator,
    ...editedMember,
  }
}

async function settleCall(
  { action: { action_id, status }, isGranted, resolver, edited }: Parameters<Approvals['settle']>[0],
  run: Parameters<Approvals['settle']>[1],
  { actions, owner }: OpenApprovals,
): ReturnType<Approvals['settle']> {
  if (resolver === timeoutMethod) await actions.expireNow(owner, action_id)
  if (status !== 'pending' || resolver === timeoutMethod) return toOutcome(await actions.get(owner, action_id))
  let outcome: ToolOutcome | undefined
  const decision = isGranted ? 'accepted' : 'rejected'
  const actionEnd = await actions.resolve(owner, action_id, {
    decision,
    resolver,
    ...(edited !== undefined && { metadata: { edited_args: edited } }),
    mayResolve: () => true,
    async apply({ apply_input }) {
      outcome = await run(edited ?? apply_input.args ?? {})
      return { ...outcome } as Json
    },
  })
  return outcome ?? toOutcome(actionEnd)
}

async function describeState(
  policy: Parameters<Approvals['describe']>[0],
  { actions, owner, system }: OpenApprovals,
): ReturnType<Approvals['describe']> {
  const approval = readApproval(policy)
  const action = approval && (await actions.get(owner, approval.action_id))
  if (!action) return undefined
  const hasExpired = Date.parse(String(policy.expires_at)) <= system.now()
  return {
    action,
    outcome: toOutcome(action.status === 'pending' && hasExpired ? { ...action, status: 'expired' } : action),
  }
}

const outcomeReaders: Readonly<Record<PendingAction['status'], (action: PendingAction) => ToolOutcome>> = {
  pending: () => ({ error: { message: 'It still waits to be allowed.' } }),
  accepted: readResult,
  rejected: ({ metadata }) => ({ error: { message: metadata.remembered ? refusedForGood : refusedCall } }),
  expired: () => ({ error: { message: 'Nobody allowed it in time.' } }),
  deleted: () => ({ error: { message: refusedCall } }),
}

function toOutcome(action: PendingAction | undefined): ToolOutcome {
  return action ? outcomeReaders[action.status](action) : { error: { message: interruptedCallText } }
}

function readResult({ resolution_result: result }: PendingAction): ToolOutcome {
  const isToolOutcome = typeof result === 'object' && result !== null && ('result' in result || 'error' in result)
  return isToolOutcome ? (result as ToolOutcome) : { error: { message: interruptedCallText } }
}
