import type { Part, Policy } from '@postern/core'
import { parseJsonText, policySchema } from '@postern/core'

/** What an agent has said, as a room can show it. */
interface ReadAnswer {
  readonly text: string
  readonly policies: readonly Policy[]
}

/** Longest text that is shown of one answer, characters. */
const maxText = 16_000
const maxPolicies = 5
/** What turns the reading of a line around, or does not show at all. */
const unseen = /[[\p{Cc}\p{Bidi_Control}]--[\n\t]]/gv

/**
 * An A2A answer says a policy twice: in words, for those who know nothing else, and as data. The words are left out, for in them is
 * the link that decides, and a room has many readers. Pure.
 */
export function readAnswer(parts: readonly Part[]): ReadAnswer {
  const policies = parts.flatMap(readPolicy).slice(0, maxPolicies)
  const words = parts.map(part => readWords(part, policies)).filter(Boolean)
  return { text: words.join('\n\n').slice(0, maxText), policies }
}

function readPolicy(part: Part): readonly Policy[] {
  if (part.kind !== 'artifact' || part.artifact_type !== 'data' || part.bytes_ref.kind !== 'inline') return []
  const data = parseJsonText(Buffer.from(part.bytes_ref.data_base64, 'base64').toString()) as unknown
  const { kind, policy } = (data ?? {}) as { readonly kind?: unknown; readonly policy?: unknown }
  const read = kind === 'policy' ? policySchema.safeParse(policy) : undefined
  return read?.success ? [read.data] : []
}

function readWords(part: Part, policies: readonly Policy[]): string {
  if (part.kind === 'text') return policies.reduce(dropWords, cleanAnswerText(part.content)).trim()
  if (part.kind === 'file' || part.kind === 'artifact') return part.name ? `[${cleanAnswerText(part.name)}]` : ''
  return ''
}

export function cleanAnswerText(text: string): string {
  return text.replace(/\r\n?/g, '\n').replace(unseen, '')
}

function dropWords(text: string, { title, message, url, action_label: label }: Policy): string {
  const link = url && (label ? `${label}: ${url}` : url)
  const words = cleanAnswerText([title, message, link].filter(Boolean).join('\n'))
  const left = text.endsWith(words) ? text.slice(0, -words.length) : text
  return url ? left.replaceAll(url, '…') : left
}
