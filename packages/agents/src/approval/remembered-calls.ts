// Applies an earlier decision ("always allow") to a later call of the same tool, once in each turn.
import { hash } from 'node:crypto'
import type { ApprovalAction, Json, RememberScope, System } from '@postern/message'
import { rememberScopes, subjectOf } from '@postern/message'
import type { RememberedDecision } from '@postern/pipeline'
import { mayBeRemembered, rememberedDecisionSchema, rememberedRecordKey } from '@postern/pipeline'
import type { PendingActions, RecordStore } from '@postern/transcript'
import type { Approvals, CallContext, CallRule, WaitingCall } from './port.ts'

interface RememberedDeps {
  /** The agent's name. */
  readonly name: string
  readonly records: Pick<RecordStore, 'get'>
  readonly system: Pick<System, 'now'>
  readonly actions: PendingActions
  /** The time for which the result of a call is stored, ms. */
  readonly retentionMs: number
}

/** Describes the scopes in which a decision may count for later calls, and the number of days. */
export function describeRememberOptions(
  { remember, remember_days: days, calls }: CallRule,
  { message, flags }: Pick<CallContext, 'message' | 'flags'>,
): Pick<ApprovalAction, 'remember'> {
  const scopes = listScopes({ remember })
  if (scopes.length === 0 || !mayBeRemembered(message, flags)) return {}
  return { remember: { scopes, days, ...(calls !== undefined && { calls }) } }
}

/** Lists the scopes of a decision. The narrowest comes first, because it has precedence. */
function listScopes({ remember }: Pick<CallRule, 'remember'>): RememberScope[] {
  return rememberScopes.slice(0, remember === 'none' ? 0 : rememberScopes.indexOf(remember) + 1)
}

/**
 * Creates the lookup of earlier decisions that cover a call. Each such call is stored as an action before it runs, named after its turn and its
 * number in the turn. A retried turn finds the action and does not run it again; if the retry makes another call at that number, it asks.
 */
export function createRememberedCalls(deps: RememberedDeps): Approvals['findRemembered'] {
  const countCall = createCallCounter()
  return async (call, context) => {
    const decision = await findDecision(call, context, deps)
    if (!decision) return undefined
    const { messageNumber, correlationId } = context
    const { id: tool_call_id, name: kind, args, agent = null } = call
    const turn = [messageNumber ?? correlationId, agent, kind]
    const callKey = JSON.stringify([...turn, countCall(context.signal, JSON.stringify(turn))])
    const draft = {
      action_id: hash('sha256', `${deps.name} ${callKey}`).slice(0, 32),
      kind,
      summary: `${kind}, as decided before`,
      apply_input: { args: (args ?? null) as Json },
      metadata: { tool_call_id, remembered: decision.id, requirement: decision.requirement },
    }
    const retention = { message: messageNumber, expiresAt: deps.system.now() + deps.retentionMs }
    const action = await deps.actions.create(`agent:${deps.name}`, draft, retention)
    const isSameCall = JSON.stringify(action.apply_input) === JSON.stringify(draft.apply_input)
    if (!isSameCall) return undefined
    const resolver = `remembered ${decision.requirement} (${decision.resolver})`
    return { action, isGranted: decision.policy === 'direct', resolver }
  }
}

async function findDecision(
  { name: tool, agent: member, rule }: WaitingCall,
  { message, flags, thread }: CallContext,
  { name, records, system }: RememberedDeps,
): Promise<RememberedDecision | undefined> {
  const scopes = rule ? listScopes(rule) : []
  if (!rule || scopes.length === 0 || !mayBeRemembered(message, flags)) return undefined
  const subject = subjectOf(message.sender)
  const subjectKey = { agent: name, tool, calls: rule.calls, member, approver: rule.approve, subject }
  for (const scope of scopes) {
    if (scope === 'conversation' && thread === undefined) continue
    const recordKey = rememberedRecordKey(scope === 'conversation' ? { ...subjectKey, thread } : subjectKey)
    const decision = rememberedDecisionSchema.safeParse((await records.get(recordKey))?.value).data
    if (decision && Date.parse(decision.expires_at) > system.now()) return decision
  }
  return undefined
}

/** Counts the calls of each kind that an attempt at a turn has made. Each attempt has its own signal. */
function createCallCounter(): (turn: AbortSignal, name: string) => number {
  const countsByTurn = new WeakMap<AbortSignal, Map<string, number>>()
  return (turn, name) => {
    const counts = countsByTurn.get(turn) ?? new Map<string, number>()
    const count = counts.get(name) ?? 0
    countsByTurn.set(turn, counts.set(name, count + 1))
    return count
  }
}
