// Refuses a document whose JSON-LD context gives other meanings to known names.
import type { JsonObject } from './json-object.ts'
import { asObject, listOf } from './json-object.ts'
import { malformedActivity } from './malformed-activity.ts'
import { activityStreamsNames } from './vocabulary.ts'

/** The keywords that make a JSON-LD processor see another document than a reader of literal names. */
const rejectedKeywords = ['@graph', '@reverse', '@included', '@nest'] as const

/** The names that the gateway reads, and the meanings that an inline context may give these names. */
const coreTerms: ReadonlyMap<string, string> = new Map([
  ['id', '@id'],
  ['type', '@type'],
  ['contentMap', 'as:content'],
  // `as` is the prefix of all other terms: `as:content` is read as `content`.
  ['as', 'as:'],
  ...activityStreamsTerms(
    'actor object attributedTo to cc bto bcc audience content summary inReplyTo tag href name url attachment',
  ),
])

function activityStreamsTerms(terms: string): [string, string][] {
  return terms.split(' ').map(word => [word, `as:${word}`])
}

/**
 * Checks that the literal names of a document have their usual meaning. Nothing is expanded and no context is fetched. A context that renames
 * these names is rejected (CVE-2022-24307), and so are rearranging keywords (CVE-2026-42462).
 * @throws Rejection `malformed`
 */
export function checkContext(json: JsonObject): void {
  for (const keyword of rejectedKeywords) {
    if (json[keyword] !== undefined) throw malformedActivity(`it uses the keyword "${keyword}"`)
  }
  const context = json['@context']
  if (context === undefined) return
  const entries = listOf(context)
  // A document without a context is AS2 by its media type (AS2 §2.1). If it has a context, that context must include AS2.
  if (!entries.some(entry => typeof entry === 'string' && activityStreamsNames.includes(entry)))
    throw malformedActivity('its @context is not that of ActivityStreams')
  for (const entry of entries) checkInlineContext(asObject(entry))
}

function checkInlineContext(definitions: JsonObject | undefined): void {
  for (const name in definitions) {
    const meaning = coreTerms.get(name)
    if (meaning && !hasMeaning(definitions[name], meaning)) throw malformedActivity(`its @context redefines "${name}"`)
  }
}

function hasMeaning(definition: unknown, meaning: string): boolean {
  const target = asObject(definition)?.['@id'] ?? definition
  if (target === meaning && meaning !== 'as:') return true
  return activityStreamsNames.some(name => target === meaning.replace('as:', `${name}#`))
}
