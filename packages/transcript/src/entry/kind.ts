// Lists the kinds, roles, scopes and formats of transcript entries, and decides which entries a chat shows.

/** The kinds of an entry in every dialect. A text with media is a `text`. A failed tool is a `tool_result` whose `tool` has the error. */
export const entryKinds = [
  'text',
  'delta',
  'tool_call',
  'tool_result',
  'input_required',
  'approval_required',
  'policy',
  'final',
  'error',
  'task',
  'delegation',
  'synthesis',
  'global_observation',
  'strategic_plan',
  'suggested_plan',
  'script_plan',
  'script_instruction',
  'director_context',
  'injected_context',
  'system',
  'developer',
  'flush',
  'rescue',
  'navigation',
  'reasoning',
  'activity',
] as const

export const entryRoles = ['user', 'assistant', 'tool', 'system', 'developer', 'marker'] as const
export const entryScopes = ['conversation', 'agent', 'global'] as const
export const formatNames = ['envelope', 'agui', 'store', 'swarm', 'normalized'] as const

/** The five dialects, and `jsonl`, which has one entry on each line. */
export const exchangeFormats = [...formatNames, 'jsonl'] as const
export type ExchangeFormat = (typeof exchangeFormats)[number]

export type EntryKind = (typeof entryKinds)[number]
export type EntryRole = (typeof entryRoles)[number]
export type EntryScope = (typeof entryScopes)[number]
export type FormatName = (typeof formatNames)[number]

const chatRoles: ReadonlySet<EntryRole> = new Set(['user', 'assistant'])
const globalKinds: ReadonlySet<EntryKind> = new Set(['global_observation', 'synthesis'])
const chatKinds: ReadonlySet<EntryKind> = new Set(['text', 'final'])
/** The kinds that wait for an answer or a decision. */
export const questionKinds: ReadonlySet<EntryKind> = new Set(['input_required', 'approval_required', 'policy'])

/**
 * Returns the default scope of an entry of this kind. Each scope is one of the three views of a message store: a conversation, an agent, or all.
 */
export function scopeOfKind(kind: EntryKind, role: EntryRole): EntryScope {
  if (globalKinds.has(kind)) return 'global'
  return kind === 'text' && chatRoles.has(role) ? 'conversation' : 'agent'
}

/**
 * Returns true if an entry is shown as a message of the chat and therefore counts in `chat_seq`. A `final` that only repeats the last
 * answer is not shown again.
 */
export function isChatVisible(
  entry: { readonly kind: EntryKind; readonly role: EntryRole; readonly scope: EntryScope },
  repeatsLastAnswer: boolean,
): boolean {
  if (questionKinds.has(entry.kind)) return true
  if (entry.scope !== 'conversation' || !chatRoles.has(entry.role) || !chatKinds.has(entry.kind)) return false
  return !(entry.kind === 'final' && repeatsLastAnswer)
}
