import type { KeyObject } from 'node:crypto'
import { Undeliverable } from '@postern/core'
import type { Iri, JsonObject } from '../format/document.ts'
import {
  asObject,
  findWebAddress,
  idOf,
  idsOf,
  isOnOrigin,
  listOf,
  readHref,
  textOf,
  typeOf,
} from '../format/document.ts'
import { cleanName } from '../html/note-reading.ts'
import { parseMultikey, parsePublicKeyPem } from '../signature/public-keys.ts'

/** The actor of a peer, as its own document describes it. */
export interface RemoteActor {
  readonly id: string
  readonly host: string
  /** Ready to verify with, by key id. A key this document does not list does not speak for this actor. */
  readonly keys: ReadonlyMap<string, KeyObject>
  /** Those that also speak for documents (FEP-521a, `assertionMethod`). */
  readonly assertionKeys: ReadonlyMap<string, KeyObject>
  readonly inbox: string | undefined
  /** Only when it lives on the actor's own origin. */
  readonly sharedInbox: string | undefined
  readonly followers: string | undefined
  readonly username: string | undefined
  readonly name: string | undefined
  readonly url: string | undefined
  /** A machine, by its own account (`Service`, `Application`): what bots and whole servers call themselves. */
  readonly isAutomated: boolean
  /** Other accounts it calls its own (`alsoKnownAs`); they need not agree. */
  readonly aliases: ReadonlySet<string>
  readonly icon: { readonly url: string; readonly mediaType?: string | undefined } | undefined
}

const maxKeys = 8
const maxAliases = 20
const isShort = (iri: string) => iri.length <= 512
const automatedTypes: ReadonlySet<string | undefined> = new Set(['Service', 'Application'])

/**
 * Reads an actor document fetched from the origin of `iri`. Thousands are remembered, so each member has a longest size.
 * @throws Undeliverable when it is not that actor's own document
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
    name: cleanName(textOf(json.name)),
    url: findWebAddress(idOf(listOf(json.url).map(readHref).find(Boolean))),
    isAutomated: automatedTypes.has(typeOf(json)),
    aliases: new Set(idsOf(json.alsoKnownAs).filter(isShort).slice(0, maxAliases)),
    icon: readIcon(json.icon),
  }
}

/** Names that read differently from how they are stored (bidi, controls, look-alikes) are withheld. */
function isPlainUsername(name: string): boolean {
  return /^[A-Za-z0-9_](?:[A-Za-z0-9_.-]{0,62}[A-Za-z0-9_])?$/.test(name)
}

function readKeys({ publicKey }: JsonObject, iri: Iri): ReadonlyMap<string, KeyObject> {
  return listKeys(publicKey, iri, ({ owner, publicKeyPem }) => {
    return (owner ?? iri.href) === iri.href ? parsePublicKeyPem(textOf(publicKeyPem) ?? '') : undefined
  })
}

/** Ed25519 keys embedded in the document; references to other documents prove nothing. */
function readMultikeys(value: unknown, iri: Iri): ReadonlyMap<string, KeyObject> {
  return listKeys(value, iri, ({ type, controller, publicKeyMultibase }) => {
    const isOwn = type === 'Multikey' && controller === iri.href
    return isOwn ? parseMultikey(textOf(publicKeyMultibase) ?? '') : undefined
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
  const shared = idOf(asObject(json.endpoints)?.sharedInbox)
  return shared && isOnOrigin(shared, origin) ? shared : undefined
}

function readIcon(value: unknown): RemoteActor['icon'] {
  const [icon] = listOf(value)
  const url = findWebAddress(idOf(readHref(asObject(icon)?.url ?? icon)))
  const mediaType = cleanName(textOf(asObject(icon)?.mediaType))
  return url ? { url, ...(mediaType && { mediaType }) } : undefined
}
