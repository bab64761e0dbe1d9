// Declares the schema of a transcript entry, which all message formats are translated through.
import type { Json, Part, PolicyResolution, TokenUsage } from '@postern/message'
import { partSchema, plainTextOf, tokenUsageSchema } from '@postern/message'
import { z } from 'zod'
import { presentMembers } from '../json/difference.ts'
import { jsonDifferenceSchema, jsonMapSchema, jsonSchema } from '../json/schema.ts'
import { entryKinds, entryRoles, entryScopes, formatNames } from './kind.ts'

/**
 * The method of a decision and the party that made it, if known. `approver` is the party that had to decide. It is absent for the person in the
 * conversation.
 */
const entryDecisionSchema = z.strictObject({
  method: z.string(),
  subject: z.string().optional(),
  approver: z.literal('operator').optional(),
})

export type EntryDecision = z.infer<typeof entryDecisionSchema>

/** Reads a decision. Returns undefined if we did not write the value, which then stays residue. */
export function readEntryDecision(value: Json | undefined): EntryDecision | undefined {
  return entryDecisionSchema.safeParse(value).data
}

/** Returns the part of a decision that the transcript stores. */
export function decisionOf(resolution: PolicyResolution | undefined): EntryDecision | undefined {
  const { resolver, approver } = resolution ?? {}
  return resolver && { ...resolver, ...(approver && { approver }) }
}

/** Writes a decision as a member of a dialect's open map, or no member without a decision. */
export function writeEntryDecision(decided_by: EntryDecision | undefined): Record<string, Json> {
  return decided_by ? { decided_by: { ...decided_by } } : {}
}

/** The content of an entry, which is the parts of a message, or a JSON value such as a plan, a result or a list. */
const entryContentSchema = z.union([
  z.strictObject({ parts: z.array(partSchema).readonly() }),
  z.strictObject({ value: jsonSchema }),
])

/** One call of a tool, or its end. `args` is a JSON object in every dialect. */
const entryToolSchema = z.object({
  call_id: z.string(),
  name: z.string().optional(),
  args: jsonMapSchema.optional(),
  /** Present if the arguments were no JSON object. Their text is residue. */
  is_invalid: z.literal(true).optional(),
  result: jsonSchema.optional(),
  error: z.object({ message: z.string(), code: z.string().optional(), type: z.string().optional() }).optional(),
  success: z.boolean().optional(),
})

const waitReasons = ['input', 'approval', 'policy', 'operator'] as const
const waitStates = ['open', 'accepted', 'rejected', 'answered', 'expired', 'cancelled'] as const

/** The reason why a thread waits for a person, the same in every view. A later entry with the same `id` ends the wait. */
const entryWaitSchema = z.object({
  id: z.string(),
  reason: z.enum(waitReasons),
  state: z.enum(waitStates),
  expires_at: z.string().optional(),
  schema: jsonSchema.optional(),
  action: jsonSchema.optional(),
})

/** The members that a message of one dialect has in addition to the canonical ones. Only that dialect's codec reads them. */
const diffSchema = z.object({
  /**
   * The number of entries that the message became. The residue is in the first of them. 0 if the entry is part of another message, so that it has no
   * separate message.
   */
  of: z.number().int().nonnegative(),
  patch: jsonDifferenceSchema.optional(),
  /** The members that the dialect's own normal form drops. */
  dropped: jsonMapSchema.optional(),
})

/** An entry before a store has numbered it. */
export const entryBodySchema = z.object({
  entry_id: z.string().min(1),
  native_id: z.string().optional(),
  /** The id under which a chat shows the entry. Absent if that id is `native_id`. */
  message_id: z.string().optional(),
  thread_id: z.string().min(1),
  scope: z.enum(entryScopes),
  kind: z.enum(entryKinds),
  role: z.enum(entryRoles),
  native_role: z.string().optional(),
  /** The channel by which the entry arrived or left. Absent for the chat. */
  via: z.string().optional(),
  agent_key: z.string().optional(),
  author: z.object({ address: z.string(), display_name: z.string().optional() }).optional(),
  content: entryContentSchema,
  /** The party that made the decision in the entry. */
  decided_by: entryDecisionSchema.optional(),
  tool: entryToolSchema.optional(),
  wait: entryWaitSchema.optional(),
  error: z.object({ message: z.string(), code: z.string().optional(), type: z.string().optional() }).optional(),
  /** The group that the entries of one foreign message share. A message with two calls is three entries. */
  group_id: z.string().optional(),
  run_id: z.string().optional(),
  parent_run_id: z.string().optional(),
  turn_id: z.string().optional(),
  turn_no: z.number().int().optional(),
  phase_id: z.number().int().optional(),
  stage: z.string().optional(),
  latency_ms: z.number().optional(),
  usage: jsonSchema.optional(),
  mode: z.enum(['user', 'tool']).optional(),
  /** The writer's metadata that a chat shows with the entry. */
  metadata: jsonMapSchema.optional(),
  /** Present if an interrupted stream left the entry incomplete. */
  is_incomplete: z.literal(true).optional(),
  /** The time of the entry, in ISO 8601 UTC with milliseconds. */
  at: z.iso.datetime(),
  /** The time in the writer's own form. Absent if the time is ours. */
  native_at: z.union([z.string(), z.number()]).optional(),
  ext: z.partialRecord(z.enum(formatNames), diffSchema).optional(),
})

/** One entry of the stored thread. `seq` determines the order. Times are only displayed. */
export const transcriptEntrySchema = entryBodySchema.extend({
  seq: z.number().int().positive(),
  /** The number among the entries that the chat shows, from 1 without gaps. Absent for other entries. */
  chat_seq: z.number().int().positive().optional(),
})

export type EntryContent = z.infer<typeof entryContentSchema>
export type EntryTool = z.infer<typeof entryToolSchema>
export type EntryWait = z.infer<typeof entryWaitSchema>
export type LosslessDiff = z.infer<typeof diffSchema>
export type EntryBody = Readonly<z.infer<typeof entryBodySchema>>
export type TranscriptEntry = Readonly<z.infer<typeof transcriptEntrySchema>>

/** Returns the content of an entry as plain text, for a dialect that carries only text. */
export function textOfContent(content: EntryContent): string {
  if ('parts' in content) return plainTextOf(withSubject(content.parts))
  return typeof content.value === 'string' ? content.value : JSON.stringify(content.value)
}

/** Puts the subject of a mail, which is a separate part, before the first text, for a dialect without such parts. */
export function withSubject(parts: readonly Part[]): readonly Part[] {
  const mail = parts.find(part => (part.kind as string) === 'email') as { readonly subject?: unknown } | undefined
  if (typeof mail?.subject !== 'string' || mail.subject === '') return parts
  return [{ kind: 'text', mime: 'text/plain', content: `Subject: ${mail.subject}` }, ...parts]
}

/** Returns content that is one plain text. An empty text has no parts. */
export function contentOfText(text: string): EntryContent {
  return { parts: text === '' ? [] : [{ kind: 'text', mime: 'text/plain', content: text }] }
}

/** Returns the parts of a content, or none if it is a JSON value. */
export function partsOfContent(content: EntryContent): readonly Part[] {
  return 'parts' in content ? content.parts : []
}

export function contentIsEmpty(content: EntryContent): boolean {
  return 'parts' in content ? content.parts.length === 0 : content.value === '' || content.value === null
}

const usagesSchema = z.array(tokenUsageSchema).min(1)

/** Reads the token usage of an entry. Returns undefined if there is no usage in our form. */
export function readEntryUsage(usage: Json | undefined): TokenUsage[] | undefined {
  return usagesSchema.safeParse(usage).data
}

/**
 * Removes the content of an entry, for the deletion of personal data if the order of the thread must stay. Residue is removed, too,
 * because it may contain the text.
 */
export function redactEntry(entry: TranscriptEntry): TranscriptEntry {
  const { seq, chat_seq, entry_id, thread_id, scope, kind, role, agent_key, group_id, at, tool } = entry
  const remainingMembers = { seq, chat_seq, entry_id, thread_id, scope, kind, role, agent_key, group_id, at }
  const call = tool && presentMembers({ call_id: tool.call_id, name: tool.name })
  return { ...presentMembers({ ...remainingMembers, tool: call }), content: { parts: [] } }
}

const entryTimePattern = /^(\d{4}-\d{2}-\d{2})[ T](\d{2}:\d{2}:\d{2})(\.\d+)?(Z|[+-]\d{2}:?\d{2})?$/

/** Parses a time in the form of ISO 8601 or `YYYY-MM-DD HH:MM:SS`; a time without a zone is UTC. Returns `undefined` for other texts. */
export function parseEntryTime(text: string): string | undefined {
  const match = entryTimePattern.exec(text)
  if (!match) return undefined
  const [, day, time, fraction = '', zone = 'Z'] = match
  return isoOfMs(Date.parse(`${day}T${time}${fraction.slice(0, 4)}${zone}`))
}

/** Formats milliseconds since the epoch as ISO 8601 UTC. Returns `undefined` if that time is out of range. */
export function isoOfMs(ms: number): string | undefined {
  const date = new Date(ms)
  if (Number.isNaN(date.getTime()) || date.getUTCFullYear() < 0 || date.getUTCFullYear() > 9999) return undefined
  return date.toISOString()
}

/** Formats a time as `YYYY-MM-DD HH:MM:SS`, UTC. */
export function formatPlainTime(iso: string): string {
  return iso.slice(0, 19).replace('T', ' ')
}
