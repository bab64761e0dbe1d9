import { hash } from 'node:crypto'
import type { ApprovalAction, Json, Platform, RememberedDecision, RememberScope } from '@postern/core'
import { mayBeRemembered, rememberedDecisionSchema, rememberedPlace, rememberScopes, subjectOf } from '@postern/core'
import type { PendingActions, RecordStore } from '@postern/transcript'
import type { Approvals, CallPlace, CallRule, WaitingCall } from './port.ts'

interface RememberedDeps {
  /** The agent's name. */
  readonly name: string
  readonly records: Pick<RecordStore, 'get'>
  readonly platform: Pick<Platform, 'now'>
  readonly actions: PendingActions
  /** How long the result of a call is kept. */
  readonly keptMs: number
}

/** How long a decision may count. */
export function offerRemembering(
  { remember, remember_days: days }: CallRule,
  { message, flags }: Pick<CallPlace, 'message' | 'flags'>,
): Pick<ApprovalAction, 'remember'> {
  const scopes = listScopes({ remember })
  return scopes.length > 0 && mayBeRemembered(message, flags) ? { remember: { scopes, days } } : {}
}

/** The narrowest first, because it is the one that counts. */
function listScopes({ remember }: Pick<CallRule, 'remember'>): RememberScope[] {
  return rememberScopes.slice(0, remember === 'none' ? 0 : rememberScopes.indexOf(remember) + 1)
}

/**
 * Calls that were decided before they are made. Each is stored as an action before it runs, named by its turn and its number in the turn. A
 * repeated turn finds it and does not run it again; if it wants another call there, it asks.
 */
export function createRememberedCalls(deps: RememberedDeps): Approvals['findRemembered'] {
  const countCall = createCallCounter()
  return async (call, context) => {
    const decision = await findDecision(call, context, deps)
    if (!decision) return undefined
    const { messageNumber, correlationId } = context
    const { id: tool_call_id, name: kind, args, agent = null } = call
    const turn = [messageNumber ?? correlationId, agent, kind]
    const place = JSON.stringify([...turn, countCall(context.signal, JSON.stringify(turn))])
    const wanted = {
      action_id: hash('sha256', `${deps.name} ${place}`).slice(0, 32),
      kind,
      summary: `${kind}, as decided before`,
      apply_input: { args: (args ?? null) as Json },
      metadata: { tool_call_id, remembered: decision.id, requirement: decision.requirement },
    }
    const ties = { message: messageNumber, until: deps.platform.now() + deps.keptMs }
    const action = await deps.actions.create(`agent:${deps.name}`, wanted, ties)
    const isSame = JSON.stringify(action.apply_input) === JSON.stringify(wanted.apply_input)
    if (!isSame) return undefined
    const resolver = `remembered ${decision.requirement} (${decision.resolver})`
    return { action, isGranted: decision.policy === 'direct', resolver }
  }
}

async function findDecision(
  { name: tool, agent: member, rule }: WaitingCall,
  { message, flags, thread }: CallPlace,
  { name, records, platform }: RememberedDeps,
): Promise<RememberedDecision | undefined> {
  const scopes = rule ? listScopes(rule) : []
  if (!rule || scopes.length === 0 || !mayBeRemembered(message, flags)) return undefined
  const about = { agent: name, tool, member, approver: rule.approve, subject: subjectOf(message.sender) }
  for (const scope of scopes) {
    if (scope === 'conversation' && thread === undefined) continue
    const place = rememberedPlace(scope === 'conversation' ? { ...about, thread } : about)
    const decision = rememberedDecisionSchema.safeParse((await records.get(place))?.value).data
    if (decision && Date.parse(decision.expires_at) > platform.now()) return decision
  }
  return undefined
}

/** How many such calls a try of a turn has made. Each try has its own signal. */
function createCallCounter(): (turn: AbortSignal, name: string) => number {
  const turns = new WeakMap<AbortSignal, Map<string, number>>()
  return (turn, name) => {
    const counts = turns.get(turn) ?? new Map<string, number>()
    const count = counts.get(name) ?? 0
    turns.set(turn, counts.set(name, count + 1))
    return count
  }
}
