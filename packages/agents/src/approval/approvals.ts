// Stores tool calls that wait for approval, asks for the decision, and runs each approved call at most once.
import type { Json, System } from '@postern/message'
import { describeApproval, isoTime, readApproval, refusedCall, refusedForGood } from '@postern/message'
import { timeoutMethod } from '@postern/pipeline'
import type { PendingAction, PendingActions, RecordStore } from '@postern/transcript'
import { createPendingActions } from '@postern/transcript'
import type { ToolRule } from '../config/approval.ts'
import type { ToolOutcome } from '../tools/tools.ts'
import type { Approvals, CallRule } from './port.ts'
import { describeCall } from './port.ts'
import { createRememberedCalls, offerRemembering } from './remembered-calls.ts'

interface ApprovalDeps {
  /** The agent's name. */
  readonly name: string
  readonly records: RecordStore
  readonly system: Pick<System, 'now' | 'randomBytes'>
}

/** The text for the person in the conversation while an operator decides. */

/** The longest time for any decision, seconds. */
const longestWait = 30 * 24 * 3_600
/** The time for which the result of a call is stored after nobody can decide on the call any more, ms. */
const keptMs = 30 * 24 * 3_600_000

const onlyOnce: CallRule = { approve: 'sender', remember: 'none', remember_days: 1 }
const brokenOff = 'It was begun and broken off. Whether it took effect is not known.'

interface OpenApprovals extends ApprovalDeps {
  readonly actions: PendingActions
  readonly owner: string
}

export function openApprovals(deps: ApprovalDeps): Approvals {
  const actions = createPendingActions(deps.records, deps.system)
  const open: OpenApprovals = { ...deps, actions, owner: `agent:${deps.name}` }
  return {
    findRemembered: createRememberedCalls({ ...deps, actions, keptMs }),
    ask: (call, context) => askForApproval(call, context, open),
    findDecided: message => findDecided(message, open),
    settle: (decided, run) => settleCall(decided, run, open),
    describe: policy => describeState(policy, open),
  }
}

async function askForApproval(
  { id, name: kind, args, preview, agent, schema, rules, rule = onlyOnce }: Parameters<Approvals['ask']>[0],
  context: Parameters<Approvals['ask']>[1],
  { actions, owner, system }: OpenApprovals,
): ReturnType<Approvals['ask']> {
  const { requireConsent, messageNumber } = context
  const apply_input = { args: args as Json }
  const { summary, shownArgs } = describeCall(kind, args, preview)
  const { approve: approver, notify, expires_after_hours: hours } = rule
  const isForOperator = approver === 'operator'
  const lasts = hours === undefined ? undefined : Math.max(60, Math.round(hours * 3_600))
  const until = lasts === undefined ? {} : { expires_at: isoTime(system.now() + lasts * 1_000) }
  const metadata = {
    tool_call_id: id,
    ...(isForOperator && {
      approver,
      ...(schema && { schema: schema as Json }),
      ...(rules && { rules: rules.map(writeRule) }),
    }),
  }
  const wanted = { kind, summary, preview: shownArgs, apply_input, metadata, ...until }
  const keptUntil = system.now() + (lasts ?? longestWait) * 1_000 + keptMs
  const action = await actions.create(owner, wanted, { message: messageNumber, until: keptUntil })
  const shown = {
    action_id: action.action_id,
    kind,
    summary,
    preview: shownArgs,
    arguments: Object.keys(Object(args)),
    tool_call_id: id,
    ...(agent !== undefined && { agent }),
    ...offerRemembering(rule, context),
  }
  const words = { message: summary, title: `Allow ${kind}?`, action_label: 'Allow it' }
  const asked = isForOperator ? { approver, ...(notify !== undefined && { notify }) } : {}
  return requireConsent({
    ...words,
    ...asked,
    ...describeApproval(shown),
    ...(lasts !== undefined && { expires_in: lasts }),
  })
}

/** Returns the members of a rule that apply to changed arguments. */
function writeRule({ when, policy, approve }: ToolRule): Json {
  return { ...(when && { when: when as Json }), policy, approve }
}

async function findDecided(
  { policy_resolution: resolution }: Parameters<Approvals['findDecided']>[0],
  { actions, owner }: OpenApprovals,
): ReturnType<Approvals['findDecided']> {
  const shown = resolution && readApproval(resolution)
  const action = shown && (await actions.get(owner, shown.action_id))
  if (!action || !resolution) return undefined
  const { requirement = action.action_id, outcome, resolver, args } = resolution
  const who = [resolver?.method, resolver?.subject].filter(Boolean).join(' ') || 'unknown'
  const edited = args === undefined ? {} : { edited: args as Json }
  const isOfOperator = action.metadata.approver === 'operator'
  return { action, shown, requirement, isGranted: outcome === 'granted', resolver: who, isOfOperator, ...edited }
}

async function settleCall(
  { action: { action_id, status }, isGranted, resolver, edited }: Parameters<Approvals['settle']>[0],
  run: Parameters<Approvals['settle']>[1],
  { actions, owner }: OpenApprovals,
): ReturnType<Approvals['settle']> {
  if (resolver === timeoutMethod) await actions.lapse(owner, action_id)
  if (status !== 'pending' || resolver === timeoutMethod) return readEnd(await actions.get(owner, action_id))
  let outcome: ToolOutcome | undefined
  const decision = isGranted ? 'accepted' : 'rejected'
  const ended = await actions.resolve(owner, action_id, {
    decision,
    resolver,
    ...(edited !== undefined && { metadata: { edited_args: edited } }),
    mayResolve: () => true,
    async apply({ apply_input }) {
      outcome = await run(edited ?? apply_input.args ?? {})
      return { ...outcome } as Json
    },
  })
  return outcome ?? readEnd(ended)
}

async function describeState(
  policy: Parameters<Approvals['describe']>[0],
  { actions, owner, system }: OpenApprovals,
): ReturnType<Approvals['describe']> {
  const shown = readApproval(policy)
  const action = shown && (await actions.get(owner, shown.action_id))
  if (!action) return undefined
  const isOver = Date.parse(String(policy.expires_at)) <= system.now()
  return {
    action,
    outcome: readEnd(action.status === 'pending' && isOver ? { ...action, status: 'expired' } : action),
  }
}

const ends: Readonly<Record<PendingAction['status'], (action: PendingAction) => ToolOutcome>> = {
  pending: () => ({ error: { message: 'It still waits to be allowed.' } }),
  accepted: readResult,
  rejected: ({ metadata }) => ({ error: { message: metadata.remembered ? refusedForGood : refusedCall } }),
  expired: () => ({ error: { message: 'Nobody allowed it in time.' } }),
  deleted: () => ({ error: { message: refusedCall } }),
}

function readEnd(action: PendingAction | undefined): ToolOutcome {
  return action ? ends[action.status](action) : { error: { message: brokenOff } }
}

function readResult({ resolution_result: result }: PendingAction): ToolOutcome {
  const isKnown = typeof result === 'object' && result !== null && ('result' in result || 'error' in result)
  return isKnown ? (result as ToolOutcome) : { error: { message: brokenOff } }
}
