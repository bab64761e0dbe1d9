import { maxUrlLength, Rejection } from '@postern/core'
import { checkContext } from './context.ts'
import type { Iri } from './iri.ts'
import { isOnOrigin, parseIri } from './iri.ts'
import type { JsonObject } from './reading.ts'
import { asObject, idsOf, listOf, onlyOf, textOf, typeOf } from './reading.ts'

/** An activity whose literal fields and origins fit together. It is not proven yet that its actor sent it. */
export interface Activity {
  readonly id: string
  readonly type: string
  readonly actor: Iri
  readonly json: JsonObject
}

/** More than any honest post has; each entry costs work later. */
const caps: Readonly<Record<string, number>> = {
  tag: 300,
  to: 300,
  cc: 300,
  bto: 300,
  bcc: 300,
  audience: 300,
  attachment: 64,
  image: 64,
  object: 300,
}

/** UTF-16 code units of one text of a post. A longer one would take processing time from all other senders. */
const maxText = 256 * 1024

const readableTypes: ReadonlySet<string | undefined> = new Set([
  ...['Note', 'Article', 'Page', 'Question', 'ChatMessage'],
  ...['Audio', 'Event', 'Image', 'Video'],
])

/** Whether its object is a post that an agent can read. */
export function isReadable({ json }: Activity): boolean {
  return isReadablePost(json.object)
}

/** Whether this is a post that an agent can read. */
export function isReadablePost(json: unknown): boolean {
  return readableTypes.has(typeOf(json))
}

/** The members that must belong to the actor too, by type of activity. */
const originRules: ReadonlyMap<string, (json: JsonObject, actor: Iri) => void> = new Map([
  ['Create', checkCreated],
  ['Update', checkCreated],
])

/**
 * Reads what an inbox was sent, by literal names only. `keyId` is the claimed signer's.
 * @throws Rejection `malformed`, `too_large`, `signer_mismatch`
 */
export function parseActivity(document: unknown, keyId: string): Activity {
  const json = asObject(document)
  if (!json) throw malformed('it is not an object')
  checkContext(json)
  checkCaps(json)
  const type = typeOf(json)
  const id = textOf(json.id)
  if (!type || !id) throw malformed(`it has no ${type ? 'id' : 'single type'}`)
  const actor = parseIri(readActorId(json.actor, keyId), 'its actor')
  requireOwn(id, actor, 'its id')
  if (!isOnOrigin(keyId, actor.origin)) throw mismatch("its signer's key is on another host than its actor")
  originRules.get(type)?.(json, actor)
  return { id, type, actor, json }
}

/** One actor. An embedded one must be the signer's: whoever reads it might believe the rest of it. */
function readActorId(value: unknown, keyId: string): string {
  const actor = onlyOf(value)
  const embedded = asObject(actor)
  const id = embedded ? textOf(embedded.id) : textOf(actor)
  if (!id) throw malformed('it does not have exactly one actor')
  if (embedded && !isKeyOf(keyId, id)) throw malformed('its actor is embedded under another id than the signer has')
  return id
}

function isKeyOf(keyId: string, actor: string): boolean {
  return keyId.startsWith(actor) && ['#', '/', '?', undefined].includes(keyId[actor.length])
}

/** Parses only what does not begin like the actor's origin: nearly everything honest does. */
function requireOwn(iri: string, { origin }: Iri, what: string): void {
  if (iri.length > maxUrlLength) throw malformed(`${what} is too long`)
  if (isOnOrigin(iri, origin)) return
  parseIri(iri, what)
  throw mismatch(`${what} is on another host than its actor`)
}

/** A post is created and changed by whom it is attributed to, on its own host (FEP-fe34). */
function checkCreated(json: JsonObject, actor: Iri): void {
  const object = json.object
  if (Array.isArray(object)) throw malformed('it is about several objects at once')
  const created = asObject(object)
  const id = textOf(created ? created.id : object)
  if (!id) throw malformed('its object has no id')
  requireOwn(id, actor, 'its object')
  if (!created) return
  checkPost(created)
  const authors = idsOf(created.attributedTo)
  if (created.attributedTo !== undefined && !authors.includes(actor.href)) {
    throw mismatch('its object is attributed to somebody else')
  }
}

/** A post means what its literal names say, and is of a size that can be read. @throws Rejection `malformed`, `too_large` */
export function checkPost(post: JsonObject): void {
  checkContext(post)
  checkCaps(post)
  checkTexts(post)
}

function checkCaps(json: JsonObject): void {
  for (const name in caps) {
    const most = caps[name] ?? 0
    if (listOf(json[name]).length > most) {
      throw new Rejection('too_large', `Cannot read activity: more than ${most} entries in "${name}"`)
    }
  }
}

function checkTexts({ content, contentMap, summary }: JsonObject): void {
  const texts = [content, summary, ...Object.values(asObject(contentMap) ?? {})]
  if (texts.some(text => typeof text === 'string' && text.length > maxText)) {
    throw new Rejection('too_large', `Cannot read activity: a text of more than ${maxText} characters`)
  }
}

function malformed(problem: string): Rejection {
  return new Rejection('malformed', `Cannot read activity: ${problem}`)
}

function mismatch(problem: string): Rejection {
  return new Rejection('signer_mismatch', `Cannot verify activity: ${problem}`)
}
