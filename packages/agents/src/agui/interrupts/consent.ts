// Recognizes questions that a yes or a no answers, and finds the values to send for them.
import type { Json } from '@postern/message'
import { isJsonObject } from '@postern/message'

/** The answers to a yes-or-no question in the server's own values. */
export interface Consent {
  readonly granted: Json
  readonly declined: Json
  /** True if the server accepts only these two values, so that a cancelled question counts as a no. */
  readonly isStrict?: true | undefined
}

/** The maximum number of actions in one question. */
const maxActions = 50

/** Reads a yes-or-no question; undefined for any other question. `isChecked` is true if LangGraph itself checks the answer against the schema. */
export function readConsent(schema: unknown, value: unknown, isChecked: boolean): Consent | undefined {
  const strictMember = isChecked ? ({ isStrict: true } as const) : {}
  if (asksForApproval(schema)) return { granted: { approved: true }, declined: { approved: false }, ...strictMember }
  return isJsonObject(value) ? readReviewConsent(value, schema) : undefined
}

/** Returns true if the schema asks only for a yes or a no: a boolean `approved`, and no other required member. */
function asksForApproval(schema: unknown): boolean {
  if (!isJsonObject(schema) || !isJsonObject(schema.properties)) return false
  const { approved } = schema.properties
  const requiredNames: readonly unknown[] = Array.isArray(schema.required) ? schema.required : []
  return isJsonObject(approved) && approved.type === 'boolean' && requiredNames.every(name => name === 'approved')
}

const [approve, reject] = [{ type: 'approve' }, { type: 'reject' }] as const

/** Reads both modes of LangChain's HumanInTheLoopMiddleware, which reviews all calls of a model together or each call separately. */
function readReviewConsent(
  { type, action_requests: actions, review_configs: configs }: { readonly [name: string]: unknown },
  schema: unknown,
): Consent | undefined {
  if (type === 'tool_approval' && offersApproveAndReject(schema))
    return { granted: approve, declined: reject, isStrict: true }
  if (!Array.isArray(actions) || !Array.isArray(configs) || !configs.every(allowsApproveAndReject)) return undefined
  if (actions.length === 0 || actions.length > maxActions) return undefined
  const repeatDecision = (decision: Json) => ({ decisions: actions.map(() => decision) })
  return { granted: repeatDecision(approve), declined: repeatDecision(reject), isStrict: true }
}

function allowsApproveAndReject(config: unknown): boolean {
  const allowedDecisions: unknown = isJsonObject(config) ? config.allowed_decisions : undefined
  return (
    Array.isArray(allowedDecisions) && allowedDecisions.includes(approve.type) && allowedDecisions.includes(reject.type)
  )
}

function offersApproveAndReject(schema: unknown): boolean {
  const text = JSON.stringify(schema) ?? ''
  return [approve, reject].every(({ type }) => text.includes(`"const":"${type}"`))
}
