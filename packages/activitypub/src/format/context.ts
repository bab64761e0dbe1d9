import { Rejection } from '@postern/core'
import type { JsonObject } from './reading.ts'
import { asObject, listOf } from './reading.ts'
import { activityStreamsNames } from './vocabulary.ts'

/** Keywords by which a JSON-LD reader would see another document than the one that lies before us. */
const rearranging = ['@graph', '@reverse', '@included', '@id', '@type', '@nest'] as const

/** The words we read, and what an inline context may say they are. */
const coreTerms: ReadonlyMap<string, string> = new Map([
  ['id', '@id'],
  ['type', '@type'],
  ['contentMap', 'as:content'],
  ...words('actor object attributedTo to cc bto bcc audience content summary inReplyTo tag href name url attachment'),
])

function words(list: string): [string, string][] {
  return list.split(' ').map(word => [word, `as:${word}`])
}

/**
 * The document must mean what its literal names say. Nothing is expanded and no context is fetched; a context that
 * renames our words is refused (CVE-2022-24307), and so are rearranging keywords (CVE-2026-42462).
 * @throws Rejection `malformed`
 */
export function checkContext(json: JsonObject): void {
  for (const keyword of rearranging) {
    if (json[keyword] !== undefined) throw malformed(`it uses the keyword "${keyword}"`)
  }
  const context = json['@context']
  if (context === undefined) return
  const entries = listOf(context)
  // Without a context it is AS2 by its media type (AS2 §2.1); with one, AS2 must be in it.
  if (!entries.some(entry => typeof entry === 'string' && activityStreamsNames.includes(entry)))
    throw malformed('its @context is not that of ActivityStreams')
  for (const entry of entries) checkInline(asObject(entry))
}

function checkInline(definitions: JsonObject | undefined): void {
  for (const name in definitions) {
    const meaning = coreTerms.get(name)
    if (meaning && !isMeant(definitions[name], meaning)) throw malformed(`its @context redefines "${name}"`)
  }
}

function isMeant(definition: unknown, meaning: string): boolean {
  const target = asObject(definition)?.['@id'] ?? definition
  return target === meaning || activityStreamsNames.some(name => target === meaning.replace('as:', `${name}#`))
}

function malformed(problem: string): Rejection {
  return new Rejection('malformed', `Cannot read activity: ${problem}`)
}
