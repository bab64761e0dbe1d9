// Parses the actor documents of other servers: keys, inboxes, names and aliases.
import type { KeyObject } from 'node:crypto'
import { Undeliverable } from '@postern/message'
import type { Iri } from '../format/iri.ts'
import { findWebUrl, isOnOrigin } from '../format/iri.ts'
import type { JsonObject } from '../format/json-object.ts'
import { asObject, idOf, idsOf, listOf, readHref, textOf, typeOf } from '../format/json-object.ts'
import { toSingleLine } from '../html/read-note.ts'
import { parseMultikey, parsePublicKeyPem } from '../signature/public-keys.ts'

/** The actor of a peer, as its own document describes it. */
export interface RemoteActor {
  readonly id: string
  readonly host: string
  /** The keys that verify signatures, by key id. A key that this document does not list does not speak for this actor. */
  readonly keys: ReadonlyMap<string, KeyObject>
  /** The keys that also prove documents (FEP-521a, `assertionMethod`). */
  readonly assertionKeys: ReadonlyMap<string, KeyObject>
  readonly inbox: string | undefined
  /** The shared inbox. Undefined if it is not on the actor's own origin. */
  readonly sharedInbox: string | undefined
  readonly followers: string | undefined
  readonly username: string | undefined
  readonly name: string | undefined
  readonly url: string | undefined
  /** True if the actor says that it is a machine (`Service`, `Application`), as bots and whole servers do. */
  readonly isAutomated: boolean
  /** The accounts that the actor claims as its own (`alsoKnownAs`). They need not confirm it. */
  readonly aliases: ReadonlySet<string>
  readonly icon: { readonly url: string; readonly mediaType?: string | undefined } | undefined
}

const maxKeys = 8
const maxAliases = 20
const isShortIri = (iri: string) => iri.length <= 512
const automatedTypes: ReadonlySet<string | undefined> = new Set(['Service', 'Application'])

/**
 * Parses an actor document fetched from the origin of `iri`. Thousands are cached, so each member has a maximum size.
 * @throws Undeliverable if it is not that actor's own document
 */
export function parseActor(document: unknown, iri: Iri): RemoteActor {
  const json = asObject(document)
  if (!json || json.id !== iri.href) throw new Undeliverable('Cannot read actor: the document is of another actor')
  const username = textOf(json.preferredUsername)
  const assertionKeys = readMultikeys(json.assertionMethod, iri)
  const otherMultikeys = readMultikeys(json.authentication, iri)
  return {
    id: iri.href,
    host: iri.host,
    keys: new Map([...otherMultikeys, ...assertionKeys, ...readKeys(json, iri)]),
    assertionKeys,
    inbox: idOf(json.inbox),
    sharedInbox: readSharedInbox(json, iri),
    followers: idOf(json.followers),
    username: username && isPlainUsername(username) ? username : undefined,
    name: toSingleLine(textOf(json.name)),
    url: findWebUrl(idOf(listOf(json.url).map(readHref).find(Boolean))),
    isAutomated: automatedTypes.has(typeOf(json)),
    aliases: new Set(idsOf(json.alsoKnownAs).filter(isShortIri).slice(0, maxAliases)),
    icon: readIcon(json.icon),
  }
}

/** Returns true if a name looks exactly as it is stored. Names with bidi marks, control characters or look-alikes are withheld. */
function isPlainUsername(name: string): boolean {
  return /^[A-Za-z0-9_](?:[A-Za-z0-9_.-]{0,62}[A-Za-z0-9_])?$/.test(name)
}

function readKeys({ publicKey }: JsonObject, iri: Iri): ReadonlyMap<string, KeyObject> {
  return listKeys(publicKey, iri, ({ owner, publicKeyPem }) => {
    return (owner ?? iri.href) === iri.href ? parsePublicKeyPem(textOf(publicKeyPem) ?? '') : undefined
  })
}

/** Reads the Ed25519 keys that are embedded in the document. References to other documents prove nothing. */
function readMultikeys(value: unknown, iri: Iri): ReadonlyMap<string, KeyObject> {
  return listKeys(value, iri, ({ type, controller, publicKeyMultibase }) => {
    const isOwnMultikey = type === 'Multikey' && controller === iri.href
    return isOwnMultikey ? parseMultikey(textOf(publicKeyMultibase) ?? '') : undefined
  })
}

function listKeys(
  value: unknown,
  { origin }: Iri,
  readKey: (entry: JsonObject) => KeyObject | undefined,
): ReadonlyMap<string, KeyObject> {
  const keys = new Map<string, KeyObject>()
  for (const entry of listOf(value).slice(0, maxKeys).map(asObject)) {
    const id = idOf(entry?.id)
    const key = entry && readKey(entry)
    if (id && key && isOnOrigin(id, origin)) keys.set(id, key)
  }
  return keys
}

function readSharedInbox(json: JsonObject, { origin }: Iri): string | undefined {
  const sharedInbox = idOf(asObject(json.endpoints)?.sharedInbox)
  return sharedInbox && isOnOrigin(sharedInbox, origin) ? sharedInbox : undefined
}

function readIcon(value: unknown): RemoteActor['icon'] {
  const [icon] = listOf(value)
  const url = findWebUrl(idOf(readHref(asObject(icon)?.url ?? icon)))
  const mediaType = toSingleLine(textOf(asObject(icon)?.mediaType))
  return url ? { url, ...(mediaType && { mediaType }) } : undefined
}
