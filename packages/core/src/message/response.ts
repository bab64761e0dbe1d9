import { z } from 'zod'
import type { Json } from '../format/notations.ts'
import { agentActionSchema } from './agent-action.ts'
import { visibilities } from './choices.ts'
import type { NormalizedMessage } from './message.ts'
import type { ArtifactPart, FilePart, Part, Policy } from './part.ts'
import { partSchema, traceSchema } from './part.ts'
import { tokenUsageSchema } from './token-usage.ts'

export function isStageName(name: unknown): name is string {
  return typeof name === 'string' && stageName.test(name)
}

const stageName = /^[\p{L}\p{N}_.-](?:[\p{L}\p{N}_. -]{0,62}[\p{L}\p{N}_.-])?$/u

export const responseStatuses = [
  'completed',
  'input_required',
  'auth_required',
  'rejected',
  'failed',
  'working',
] as const

/** What an answer says beside its parts. */
const saidShape = {
  /** Further recipients, `@name@domain`; the channel's `mention_relay` brings them in. */
  mentions: z.array(z.string()).optional(),
  /** Who may read it on the fediverse; default: as the message, and never wider. */
  visibility: z.enum(visibilities).optional(),
  /** A content warning; of a mail, its subject. */
  subject: z.string().optional(),
  /** Answer another agent with a bare message instead of a task (A2A); elsewhere without effect. */
  as: z.literal('message').optional(),
}

/** What stands behind an answer: kept with it and shown where somebody watches (web chat, history), on no other wire. */
const behindShape = {
  /** The member that speaks, if several agents stand behind one address. */
  speaker: z.string().max(128).optional(),
  /** What a chat shows of the agent beside its words (AG-UI: `STATE_SNAPSHOT`, `STATE_DELTA`); the last one stands. */
  chat_state: z.record(z.string(), z.json()).optional(),
  /** What a chat keeps with the message and shows as it is (AG-UI: `metadata`). */
  chat_metadata: z.record(z.string(), z.json()).optional(),
  /** Calls that are no part of the answer, such as those by which agents hand over. */
  trace: traceSchema.optional(),
  /** What the answer cost in tokens, one for each provider and model; pieces of a stream add up. */
  usage: z.array(tokenUsageSchema).max(100).optional(),
}

/** What an agent says back, complete. The shape is ours. */
export const normalizedResponseSchema = z
  .object({
    /** Id of the response, made by the gateway. */
    id: z.string(),
    /** The conversation. */
    thread_id: z.string(),
    /** Id of the message that it answers. */
    in_reply_to: z.string(),
    /** The agent, `@agent@domain`. */
    sender: z.string(),
    /** What it says. */
    parts: z.array(partSchema),
    /** How the turn ended: the state of the A2A task, elsewhere text. */
    status: z.enum(responseStatuses),
    ...saidShape,
    ...behindShape,
    /** How many parts were a result before the agent asked, refused or failed. */
    results: z.number().int().positive().optional(),
    /** The streamed part of an answer that failed. */
    unfinished: z.array(partSchema).optional(),
    /** When the agent gave it. */
    created_at: z.iso.datetime(),
  })
  .refine(({ parts, status }) => parts.length > 0 || status !== 'completed', {
    path: ['parts'],
    message: 'a completed response needs at least one part',
  })

/** What an agent may hand over: any of the members it wants to decide itself; the gateway fills in the rest. */
export const partialResponseSchema = z.object({
  /** What it says. */
  parts: z.array(partSchema).optional(),
  /** How the turn ends; default: `completed`. */
  status: z.enum(responseStatuses).optional(),
  ...saidShape,
  /** How many parts were a result before the agent asked; set for the pieces of a stream. */
  results: z.number().int().positive().optional(),
  /** What the agent does besides answering. */
  acts: z.array(agentActionSchema).max(50).optional(),
  /** What the transcript keeps of the turn, as `context.note` does. */
  notes: z
    .array(
      z.looseObject({
        /** Type of the note. */
        type: z.string(),
      }),
    )
    .max(500)
    .optional(),
  /** The stage that a stream has reached, as `context.stage` tells it. */
  stage: z.string().refine(isStageName).optional(),
  ...behindShape,
})

export type ResponseStatus = (typeof responseStatuses)[number]
export type NormalizedResponse = z.infer<typeof normalizedResponseSchema>
export type PartialResponse = z.infer<typeof partialResponseSchema>

/** What somebody can decide, so that the agent goes on. */
export const requirementKinds = ['consent_required', 'payment_required', 'unauthorized'] as const
export type RequirementKind = (typeof requirementKinds)[number]

/** What nobody can decide; the agent will not. */
export const refusalKinds = [
  'forbidden',
  'too_many_requests',
  'unavailable_for_legal_reasons',
  'service_unavailable',
] as const
export type RefusalKind = (typeof refusalKinds)[number]

export function isRequirementKind(kind: string): kind is RequirementKind {
  return requirementKinds.some(known => known === kind)
}

export function policiesOf(parts: readonly Part[]): readonly Policy[] {
  return parts.flatMap(part => (part.kind === 'policy' ? [part.policy] : []))
}

/** What can be decided is open whatever its agent says; a requirement or refusal is never success, one of an unknown kind neither (MN-7.1). */
export function statusWithPolicies(
  parts: readonly Part[],
  status: ResponseStatus | undefined,
): ResponseStatus | undefined {
  const kinds = policiesOf(parts).map(({ kind }) => kind)
  const decisive = kinds.find(isRequirementKind) ?? kinds[0]
  if (decisive === undefined) return status
  const isOpen = isRequirementKind(decisive) || status === undefined || status === 'completed'
  return isOpen ? statusOf(decisive) : status
}

function statusOf(kind: string): ResponseStatus {
  if (kind === 'unauthorized') return 'auth_required'
  return refusalKinds.some(refusal => refusal === kind) ? 'rejected' : 'input_required'
}

/** Who may say yes: the one who is talking, or a person behind the gateway. */
export const approvers = ['sender', 'operator'] as const
export type Approver = (typeof approvers)[number]

/** Whose a requirement is that operators decide. No principal is called so: those are JSON lists. */
export const operatorSubject = 'operator'

/** Whoever is talking is only told of it. */
export function isForOperator({ kind, approver }: Policy): boolean {
  return kind === 'consent_required' && approver === 'operator'
}

/** Whether it has bytes. */
export function isFilePart(part: Part): part is FilePart | ArtifactPart {
  return part.kind === 'file' || part.kind === 'artifact'
}

/** Text and links of `parts` as one plain reading, for history budgets and for wires that carry only text. */
export function plainTextOf(parts: readonly Part[]): string {
  const lines = parts.map(part => {
    if (part.kind === 'text') return part.content
    if (part.kind === 'link') return part.title ? `${part.title}: ${part.url}` : part.url
    return part.kind === 'policy' ? part.policy.message : ''
  })
  return lines.filter(Boolean).join('\n\n')
}

/** A policy in the form for its addressee: with the state and the address for their decision. */
export type ShowRequirement = (policy: Policy) => Policy

/** Only for documents that go to the sender and nobody else. */
export function showRequirements(parts: readonly Part[], show: ShowRequirement | undefined): readonly Part[] {
  return show ? mapPolicies(parts, show) : parts
}

function mapPolicies(parts: readonly Part[], change: (policy: Policy) => Policy): readonly Part[] {
  if (!parts.some(part => part.kind === 'policy')) return parts
  return parts.map(part => (part.kind === 'policy' ? { kind: 'policy', policy: change(part.policy) } : part))
}

/** In the language of whom it is for, as far as it was said in it. */
function translatePolicies(parts: readonly Part[], locale: string | undefined): readonly Part[] {
  return locale === undefined ? parts : mapPolicies(parts, policy => translatePolicy(policy, [locale]))
}

/** By the first of these languages there is: `de-AT`, then `de`. */
export function translatePolicy(policy: Policy, locales: readonly string[]): Policy {
  const { message_translations: known = {} } = policy
  const names = new Map(Object.keys(known).map(name => [name.toLowerCase(), name]))
  for (const locale of locales.map(name => name.toLowerCase().replaceAll('_', '-'))) {
    const name = names.get(locale) ?? names.get(locale.split('-')[0] ?? '')
    const words = name === undefined ? undefined : known[name]
    if (words) return { ...policy, ...(words.title !== undefined && { title: words.title }), message: words.message }
  }
  return policy
}

/** A response as its message's sender is to read it. */
export function presentResponse(
  response: NormalizedResponse,
  { sender }: Pick<NormalizedMessage, 'sender'>,
  show: ShowRequirement | undefined,
): NormalizedResponse {
  if (!response.parts.some(part => part.kind === 'policy')) return response
  const parts = translatePolicies(showRequirements(response.parts, show), sender.profile?.locale)
  return { ...response, parts: [...parts] }
}

/** Whether there is something in it that only its sender may decide. */
export function hasRequirements(parts: readonly Part[]): boolean {
  return parts.some(
    part => part.kind === 'policy' && typeof part.policy.requirement === 'string' && !isForOperator(part.policy),
  )
}

const actionAddress = /(\/actions\/)[\w-]{43}(?![\w-])/g

const stateMembers: ReadonlySet<string> = new Set(['state', 'in_reply_to_state'])

/** A document as others may keep it and see it: without what decides a requirement. */
export function hideRequirements(json: Json): Json {
  if (typeof json === 'string') return json.includes('/actions/') ? json.replace(actionAddress, '$1…') : json
  if (Array.isArray(json)) return json.map(hideRequirements)
  if (typeof json !== 'object' || json === null) return json
  const members = Object.entries(json).map(([name, value]) => {
    const isState = stateMembers.has(name) && typeof value === 'string' && /^[\w-]{43}$/.test(value)
    return [name, isState ? '…' : hideRequirements(value ?? null)]
  })
  return Object.fromEntries(members)
}
