// Normalizes the different JSON-LD forms of one document.
import { Rejection } from '@postern/message'

/** The prefixes of terms. JSON-LD processors treat a term, its compact IRI and its full IRI as the same (JSON-LD 1.1 §4.1.5, §5.1). */
const termPrefixes = [
  'as:',
  'https://www.w3.org/ns/activitystreams#',
  'http://www.w3.org/ns/activitystreams#',
  'https://w3id.org/security#',
  'http://www.w3.org/ns/ldp#',
  'litepub:',
  'http://litepub.social/ns#',
] as const

const keywords: ReadonlyMap<string, string> = new Map([
  ['@id', 'id'],
  ['@type', 'type'],
])

const termPattern = /^[a-z][a-z0-9]{0,63}$/i

/** The types that have a meaning here. A document may list extension types beside them, in any order (Activity Streams 2.0 Core §4.1). */
const coreTypes: ReadonlySet<string> = new Set(
  [
    'Accept Add Announce Arrive Block Create Delete Dislike EmojiReact Flag Follow Ignore Invite Join Leave Like Listen Move Offer Question Read',
    'Reject Remove TentativeAccept TentativeReject Travel Undo Update View',
    'Note Article Page ChatMessage Audio Event Image Video Document Place Profile Relationship Tombstone',
    'Application Group Organization Person Service Link Mention Hashtag Emoji PropertyValue',
    'Collection OrderedCollection CollectionPage OrderedCollectionPage Key Multikey DataIntegrityProof',
  ].flatMap(line => line.split(' ')),
)

/** The members that have one value. A list of one is replaced by its element. Members that may have several values are read as lists anyway. */
const singleTerms: ReadonlySet<string> = new Set(
  [
    'id type actor object target result origin instrument attributedTo inReplyTo context conversation content summary name href mediaType',
    'published updated startTime endTime duration sensitive inbox outbox followers following featured endpoints sharedInbox preferredUsername',
    'publicKeyPem publicKeyMultibase owner controller quote quoteUrl quoteUri _misskey_quote _misskey_reaction language identifier deleted',
    'formerType verificationMethod proofPurpose proofValue cryptosuite created',
  ].flatMap(line => line.split(' ')),
)

/** The texts in a natural language. Each may occur in several languages. */
const textTerms: ReadonlySet<string> = new Set(['content', 'summary', 'name'])

/** The members that contain texts by language. A name inside is a language code and not a term: `id` is Indonesian. */
const languageMaps: ReadonlySet<string> = new Set(['contentMap', 'summaryMap', 'nameMap'])

type Members = Readonly<Record<string, unknown>>

/** The most nodes of one document that may be in other forms. Honest documents have a few dozen, and each node costs more than reading it. */
const maxRewrittenNodes = 10_000

/** The cost of one document so far. */
interface RewriteCount {
  nodes: number
}

/**
 * Returns a document with short names in place of prefixes, full IRIs and keywords, one core type in place of a list of types, the element in
 * place of a list of one, the text in place of `@value`, and the IRI in place of a node that has only its id. A document that needs no changes is
 * returned as it is. Each member is visited once. The depth is that of the parsed text, which is limited. It is pure.
 * @throws Rejection `malformed` if a member occurs in two forms, because readers would see different documents; `too_large`
 */
export function normalizeJsonLd(document: unknown): unknown {
  const [root] = Array.isArray(document) && document.length === 1 ? document : [document]
  return normalizeValue(root, '', { nodes: 0 })
}

function normalizeValue(value: unknown, term: string, count: RewriteCount): unknown {
  if (typeof value === 'string') return term === 'type' ? shortenType(value) : value
  if (Array.isArray(value)) return normalizeList(value, term, count)
  return typeof value === 'object' && value !== null ? normalizeNode(value as Members, term, count) : value
}

function normalizeList(list: readonly unknown[], term: string, count: RewriteCount): unknown {
  let changedList: unknown[] | undefined
  for (let index = 0; index < list.length; index++) {
    const originalValue = list[index]
    const normalizedValue = normalizeValue(originalValue, term, count)
    if (normalizedValue !== originalValue) {
      changedList ??= [...list]
      changedList[index] = normalizedValue
    }
  }
  const normalizedList = changedList ?? list
  if (term === 'type') return chooseType(normalizedList)
  if (textTerms.has(term)) return joinTexts(list, normalizedList)
  return normalizedList.length === 1 && singleTerms.has(term) ? normalizedList[0] : normalizedList
}

function normalizeNode(node: Members, term: string, count: RewriteCount): unknown {
  const value = readWrapper(node, term, count)
  if (value !== undefined) return value
  if (languageMaps.has(term)) return normalizeMembers(node, name => [name, 'content'], count)
  const normalizedNode = normalizeMembers(node, readTerm, count)
  return mayBeReference(term) && isReference(normalizedNode) ? normalizedNode.id : normalizedNode
}

/** Renames each member to the name that `readName` returns, and normalizes its value by the returned term. Returns the node itself if nothing changes. */
function normalizeMembers(
  node: Members,
  readName: (name: string) => readonly [string, string],
  count: RewriteCount,
): Members {
  let changes: [name: string, shortName: string, newValue: unknown][] | undefined
  for (const name of Object.keys(node)) {
    if (name === '@context') continue
    const [shortName, term] = readName(name)
    const originalValue = node[name]
    const normalizedValue = normalizeValue(originalValue, term, count)
    if (shortName === name && normalizedValue === originalValue) continue
    changes ??= []
    changes.push([name, shortName, normalizedValue])
    count.nodes += 1
    if (count.nodes > maxRewrittenNodes) throw new Rejection('too_large', 'Cannot read activity: it is in odd forms')
  }
  return changes ? applyChanges(node, changes) : node
}

function applyChanges(node: Members, changes: readonly (readonly [string, string, unknown])[]): Members {
  const renamedMembers = new Set(changes.flatMap(([name, shortName]) => (name === shortName ? [] : [name])))
  const members = new Map(Object.entries(node).filter(([name]) => !renamedMembers.has(name)))
  for (const [name, shortName, newValue] of changes) {
    if (name !== shortName && members.has(shortName)) throw refuseRepeatedMember(shortName)
    members.set(shortName, newValue)
  }
  const languages = members.has('contentMap') ? undefined : readLanguages(node)
  if (languages) members.set('contentMap', languages)
  return Object.fromEntries(members)
}

/** Returns the short name of a member and the term by which its value is read, which is the same name. */
function readTerm(name: string): readonly [string, string] {
  const shortName = shortenName(name)
  return [shortName, shortName]
}

/** Returns true if the value of a term may be a reference. An id and a type are not nodes, and neither is the document itself. */
function mayBeReference(term: string): boolean {
  return term !== '' && term !== 'id' && term !== 'type'
}

/** Reads a value object (`@value`), or a list or set with its keyword. Returns undefined for other nodes. */
function readWrapper(node: Members, term: string, count: RewriteCount): unknown {
  if (Object.hasOwn(node, '@value')) return node['@value']
  const list = node['@list'] ?? node['@set']
  return Array.isArray(list) ? normalizeList(list, term, count) : undefined
}

/** Returns true if a node has only its id, because such a node is a reference, like the IRI alone (JSON-LD 1.1 §3.3). */
function isReference(node: Members): node is { readonly id: string } {
  if (typeof node.id !== 'string') return false
  for (const name in node) if (name !== 'id') return false
  return true
}

function shortenName(name: string): string {
  const keyword = name.startsWith('@') ? keywords.get(name) : undefined
  return keyword ?? (name.includes(':') ? removePrefix(name) : name)
}

function removePrefix(name: string): string {
  const prefix = termPrefixes.find(termPrefix => name.startsWith(termPrefix))
  const term = prefix && name.slice(prefix.length)
  return term && termPattern.test(term) ? term : name
}

function shortenType(type: string): string {
  const shortType = type.includes(':') ? removePrefix(type) : type
  return coreTypes.has(shortType) ? shortType : type
}

/** Returns the first type that is known here, or else the first type of all. */
function chooseType(types: readonly unknown[]): unknown {
  return types.find(type => typeof type === 'string' && coreTypes.has(type)) ?? types[0]
}

/** Lists the types of a document that are known here, each once, regardless of their form. */
export function listCoreTypes(document: unknown): readonly string[] {
  const [root] = Array.isArray(document) && document.length === 1 ? document : [document]
  const members = typeof root === 'object' && root !== null ? (root as Members) : {}
  const types = [members.type ?? members['@type']].flat().filter(type => typeof type === 'string')
  return [...new Set(types.map(shortenType).filter(type => coreTypes.has(type)))]
}

/**
 * Joins the texts of a member. Texts in several languages are translations, so the first one represents all. Texts without a language are joined
 * in order.
 */
function joinTexts(list: readonly unknown[], normalizedTexts: readonly unknown[]): unknown {
  const texts = normalizedTexts.filter(text => typeof text === 'string')
  return list.some(hasLanguage) ? texts[0] : texts.join('\n')
}

function hasLanguage(text: unknown): boolean {
  return typeof text === 'object' && text !== null && Object.hasOwn(text, '@language')
}

/** Reads the texts of `content` by their language, if each text has one. */
function readLanguages(node: Members): Members | undefined {
  const name = Object.keys(node).find(member => shortenName(member) === 'content')
  const texts = name === undefined ? [] : [node[name]].flat()
  const entries = texts.flatMap(text => {
    const { '@value': value, '@language': language } = (
      typeof text === 'object' && text !== null ? text : {}
    ) as Members
    return typeof value === 'string' && typeof language === 'string' ? [[language, value] as const] : []
  })
  return entries.length > 0 && entries.length === texts.length ? Object.fromEntries(entries) : undefined
}

function refuseRepeatedMember(name: string): Rejection {
  return new Rejection('malformed', `Cannot read activity: it says "${name}" in two forms`)
}
